// What the declarations share: operands as one arithmetic stores them, results as float64.
// Internal to this folder.
#ifndef DRAFTMARK_SRC_OPERATIONS_SUPPORT_H_
#define DRAFTMARK_SRC_OPERATIONS_SUPPORT_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/operations/operation.h"
#include "src/reference/numeric.h"
#include "src/tensor/bfloat16.h"
#include "src/weights/weights.h"

namespace draftmark::operations {

// A BF16 operand as N stores values.
template <typename N>
std::vector<typename N::Storage> Stored(const OperandSet& in, std::string_view name) {
  std::vector<typename N::Storage> stored;
  for (const BFloat16 value : in.Elements<BFloat16>(name)) {
    stored.push_back(N::Store(value.ToDouble()));
  }
  return stored;
}

// A BF16 operand as a weight matrix; empty if there is none.
inline Bf16Matrix Matrix(const OperandSet& in, std::string_view name) {
  if (!in.Has(name)) return {};
  return Bf16Matrix::FromView(in.Get(name).view());
}

template <typename N>
std::vector<double> Loaded(std::span<const typename N::Storage> values) {
  std::vector<double> doubles;
  doubles.reserve(values.size());
  for (const auto& value : values) doubles.push_back(N::Load(value));
  return doubles;
}
template <typename N>
std::vector<double> Loaded(const std::vector<typename N::Storage>& values) {
  return Loaded<N>(std::span<const typename N::Storage>(values));
}

// A BF16 operand in float64, for oracles.
inline std::vector<double> Doubles(const OperandSet& in, std::string_view name) {
  return Stored<reference::ExactNumeric>(in, name);
}

template <typename T>
std::vector<double> Widened(std::span<const T> values) {
  return std::vector<double>(values.begin(), values.end());
}

// What an oracle does at a rounding point inside an operation (outputs stay unrounded).
inline double RoundTo(Precision precision, double value) {
  return precision == Precision::kBf16 ? BFloat16::FromDouble(value).ToDouble() : value;
}

// One reference for both arithmetics.
template <OperandValues (*Exact)(const OperationCase&, const OperandSet&),
          OperandValues (*Bf16)(const OperationCase&, const OperandSet&)>
OperandValues ByPrecision(const OperationCase& c, const OperandSet& in, Precision precision) {
  return precision == Precision::kExact ? Exact(c, in) : Bf16(c, in);
}
#define DM_REFERENCE(Function) \
  ByPrecision<Function<reference::ExactNumeric>, Function<reference::Bf16Numeric>>

// An oracle of values that are copied, not computed.
inline OracleTensor Copied(std::vector<double> values) { return {std::move(values), {}, 0}; }

inline ErrorModel ExactModel(const ShapeKeys& /*keys*/, std::string_view /*output*/) {
  return Exact();
}
inline ErrorModel ElementwiseModel(const ShapeKeys& /*keys*/, std::string_view /*output*/) {
  return SingleRound();
}
inline double NoFlops(const ShapeKeys& /*keys*/) { return 0; }

// x * W^T + bias in float64, by the definition.
OracleTensor LinearOracle(std::span<const double> x, std::span<const double> weight,
                          std::span<const double> bias, std::size_t rows, std::size_t outputs);

// The declarations, by subject.
std::vector<Operation> ProjectionOperations();
std::vector<Operation> NormOperations();
std::vector<Operation> CacheOperations();
std::vector<Operation> MlpOperations();
std::vector<Operation> TokenOperations();
std::vector<Operation> HeadOperations();

}  // namespace draftmark::operations

#endif  // DRAFTMARK_SRC_OPERATIONS_SUPPORT_H_
