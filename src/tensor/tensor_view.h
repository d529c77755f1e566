// TensorView: a dtype, a shape and bytes that belong to someone else (a mapped file, a buffer).
// Row-major, little-endian, densely packed; the data need not be aligned to the element
// (safetensors does not promise it).
//
//   DM_ASSIGN_OR_RETURN(const TensorView view, MakeTensorView(DType::kBF16, {3, 8}, bytes));
//   DM_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(view));
//
// A view is a plain value, valid as long as the bytes are. All functions are pure and thread-safe.
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
// "3,8,32" -> logical index of element `flat` of a row-major tensor, as "[0, 2, 17]". An index
// outside the tensor is printed as such: "[flat 40, outside of [3, 8]]".
std::string LogicalIndex(const Shape& shape, std::uint64_t flat);

// Bytes that a tensor takes. OUT_OF_RANGE if the size overflows 64 bits, INVALID_ARGUMENT if
// elements of less than a byte do not fill whole bytes.
StatusOr<std::uint64_t> TensorBytes(DType dtype, const Shape& shape);
// A view whose bytes are as many as dtype and shape ask for; otherwise INVALID_ARGUMENT with
// expected and found.
StatusOr<TensorView> MakeTensorView(DType dtype, Shape shape, std::span<const std::byte> bytes);

// All elements as float64, exactly (BOOL as 0 and 1, any byte but 0 counting as true).
// UNIMPLEMENTED for packed and complex types; I64 and U64 values above 2^53 in magnitude are an
// OUT_OF_RANGE error that names the element; INVALID_ARGUMENT if bytes and shape contradict.
StatusOr<std::vector<double>> ToDoubles(const TensorView& view);
// The elements of an integer tensor (any integer dtype, not BOOL), OUT_OF_RANGE if one does not fit
// into int64, INVALID_ARGUMENT for other dtypes.
StatusOr<std::vector<std::int64_t>> ToInt64s(const TensorView& view);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_TENSOR_VIEW_H_
