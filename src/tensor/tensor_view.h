// TensorView: a dtype, a shape and bytes that belong to someone else (a mapped file, a buffer).
// Row-major, little-endian, densely packed; the data need not be aligned to the element
// (safetensors does not promise it).
#ifndef DRAFTMARK_SRC_TENSOR_TENSOR_VIEW_H_
#define DRAFTMARK_SRC_TENSOR_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/dtype.h"

namespace draftmark {

using Shape = std::vector<std::uint64_t>;

struct TensorView {
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;

  // Product of the shape; 1 for a scalar. The maker of the view has checked it against overflow.
  std::uint64_t elements() const;
};

// "[3, 8, 32]"; "[]" for a scalar.
std::string ShapeToString(const Shape& shape);
// "3,8,32" -> logical index of element `flat` of a row-major tensor, as "[0, 2, 17]".
std::string LogicalIndex(const Shape& shape, std::uint64_t flat);

// All elements as float64 (exact for every floating type but none lost for I32/U32 either).
// UNIMPLEMENTED for packed and complex types; I64 and U64 values above 2^53 are an OUT_OF_RANGE
// error.
StatusOr<std::vector<double>> ToDoubles(const TensorView& view);
// The elements of an integer tensor (any integer dtype), OUT_OF_RANGE if one does not fit into
// int64.
StatusOr<std::vector<std::int64_t>> ToInt64s(const TensorView& view);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_TENSOR_VIEW_H_
