#include "benchmarks/replay/benchmark_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

// Whether an element depends on nothing but its index (and for weights on the columns).
bool IsPlain(Fill fill) {
  return fill == Fill::kActivation || fill == Fill::kWeight || fill == Fill::kNormWeight ||
         fill == Fill::kLogits;
}

// Repeats the first `pattern` bytes to the end.
void Repeat(std::vector<std::byte>& bytes, std::size_t pattern) {
  for (std::size_t done = pattern; done < bytes.size();) {
    // A multiple of the pattern each time, so that copies double.
    const std::size_t count = std::min(done, bytes.size() - done);
    std::memcpy(bytes.data() + done, bytes.data(), count);
    done += count;
  }
}

StatusOr<Operand> MakeOperand(const OperationCase& c, const OperandSpec& spec, bool& exact) {
  DM_ASSIGN_OR_RETURN(Shape shape, OperandShape(spec, c.keys));
  DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TensorBytes(spec.dtype, shape));
  Operand operand{std::string(spec.name), spec.dtype, spec.role, std::move(shape), {}};
  const std::uint64_t seed = SeedOf(fmt::format("{}/{}", c.Id(), spec.name));
  const std::uint64_t pattern = kPatternElements * (DTypeBits(spec.dtype) / 8);
  if (!IsPlain(spec.fill) || bytes <= pattern) {
    std::uint64_t limit = 0;
    if (!spec.limit.empty()) {
      DM_ASSIGN_OR_RETURN(limit, EvaluateDim(spec.limit, c.keys));
    }
    operand.bytes.resize(bytes);
    FillOperand(spec.fill, seed, limit, operand);
    return operand;
  }
  exact = false;
  // Columns count, since they scale weights.
  Operand first{operand.name, spec.dtype, spec.role, {1, kPatternElements}, {}};
  first.bytes.resize(pattern);
  FillOperand(spec.fill, seed, 0, first);
  if (spec.fill == Fill::kWeight) {
    const auto columns = static_cast<double>(operand.shape.back());
    const double scale = std::sqrt(static_cast<double>(kPatternElements) / columns);
    for (std::uint64_t i = 0; i < kPatternElements; ++i) {
      BFloat16 value;
      std::memcpy(&value, first.bytes.data() + i * sizeof(value), sizeof(value));
      value = BFloat16::FromDouble(value.ToDouble() * scale);
      std::memcpy(first.bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  }
  operand.bytes = std::move(first.bytes);
  if (c.operation->prepare != nullptr && bytes <= kLargestPreparedBytes) {
    operand.bytes.resize(bytes);
    Repeat(operand.bytes, pattern);
  }
  return operand;
}

}  // namespace

StatusOr<BenchmarkOperands> MakeBenchmarkOperands(const OperationCase& c) {
  BenchmarkOperands made;
  for (const OperandSpec& spec : c.operation->operands) {
    if (!OperandExists(spec, c.keys)) continue;
    StatusOr<Operand> operand = MakeOperand(c, spec, made.exact);
    if (!operand.ok()) {
      return operand.status().Annotated(fmt::format("{}: operand {}", c.Id(), spec.name));
    }
    made.operands.Add(*std::move(operand));
  }
  if (c.operation->prepare != nullptr) c.operation->prepare(c, made.operands);
  return made;
}

}  // namespace draftmark
