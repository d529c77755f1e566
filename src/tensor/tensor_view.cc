#include "src/tensor/tensor_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/base/checked.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/float16.h"
#include "src/tensor/float8.h"

namespace draftmark {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they lie in files");

// Every integer up to this magnitude is a float64; the next one is not.
constexpr std::int64_t kLargestExactInteger = std::int64_t{1} << 53;

Status ElementError(const TensorView& view, std::size_t index, const std::string& value,
                    std::string_view target) {
  return OutOfRangeError(fmt::format("element {} of a {} tensor: {} does not fit exactly into {}",
                                     LogicalIndex(view.shape, index), DTypeName(view.dtype), value,
                                     target));
}

// Element `index`, which may lie at any address.
template <typename T>
T Load(const TensorView& view, std::size_t index) {
  T element;
  std::memcpy(&element, view.bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

template <typename T>
StatusOr<std::vector<double>> DoublesOf(const TensorView& view) {
  std::vector<double> values(view.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = Load<T>(view, i);
    if constexpr (std::is_class_v<T>) {
      values[i] = element.ToDouble();
    } else {
      values[i] = static_cast<double>(element);
    }
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      if (std::cmp_greater(element, kLargestExactInteger) ||
          std::cmp_less(element, -kLargestExactInteger)) {
        return ElementError(view, i, fmt::to_string(element), "float64");
      }
    }
  }
  return values;
}

StatusOr<std::vector<double>> BoolsOf(const TensorView& view) {
  std::vector<double> values(view.bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = view.bytes[i] == std::byte{0} ? 0.0 : 1.0;
  }
  return values;
}

template <typename T>
StatusOr<std::vector<std::int64_t>> Int64sOf(const TensorView& view) {
  std::vector<std::int64_t> values(view.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = Load<T>(view, i);
    if (!std::in_range<std::int64_t>(element)) {
      return ElementError(view, i, fmt::to_string(element), "int64");
    }
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): I8 is a number, no character.
    values[i] = static_cast<std::int64_t>(element);
  }
  return values;
}

// A view made by hand might promise more elements than its bytes hold.
Status CheckBytes(const TensorView& view) {
  return MakeTensorView(view.dtype, view.shape, view.bytes).status();
}

}  // namespace

std::uint64_t TensorView::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t dimension : shape) product *= dimension;
  return product;
}

std::string ShapeToString(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string LogicalIndex(const Shape& shape, std::uint64_t flat) {
  Shape index(shape.size());
  std::uint64_t rest = flat;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) break;  // no index is inside; `rest` cannot be 0 for all dimensions
    index[i] = rest % shape[i];
    rest /= shape[i];
  }
  const bool empty = std::find(shape.begin(), shape.end(), 0u) != shape.end();
  if (rest != 0 || empty) {
    return fmt::format("[flat {}, outside of {}]", flat, ShapeToString(shape));
  }
  return ShapeToString(index);
}

StatusOr<std::uint64_t> TensorBytes(DType dtype, const Shape& shape) {
  CheckedU64 bits = 1;
  for (const std::uint64_t dimension : shape) bits *= dimension;
  bits *= DTypeBits(dtype);
  if (!bits.ok()) {
    return OutOfRangeError(fmt::format("the size of shape {} times {} bits of {} overflows 64 bits",
                                       ShapeToString(shape), DTypeBits(dtype), DTypeName(dtype)));
  }
  if (bits.value() % 8 != 0) {
    return InvalidArgumentError(
        fmt::format("shape {} of {} takes {} bits, which are no whole bytes", ShapeToString(shape),
                    DTypeName(dtype), bits.value()));
  }
  return bits.value() / 8;
}

StatusOr<TensorView> MakeTensorView(DType dtype, Shape shape, std::span<const std::byte> bytes) {
  DM_ASSIGN_OR_RETURN(const std::uint64_t expected, TensorBytes(dtype, shape));
  if (bytes.size() != expected) {
    return InvalidArgumentError(fmt::format("expected {} bytes for shape {} of {}, found {}",
                                            expected, ShapeToString(shape), DTypeName(dtype),
                                            bytes.size()));
  }
  return TensorView{dtype, std::move(shape), bytes};
}

StatusOr<std::vector<double>> ToDoubles(const TensorView& view) {
  DM_RETURN_IF_ERROR(CheckBytes(view));
  switch (view.dtype) {
    case DType::kBool:
      return BoolsOf(view);
    case DType::kU8:
      return DoublesOf<std::uint8_t>(view);
    case DType::kI8:
      return DoublesOf<std::int8_t>(view);
    case DType::kF8E5M2:
      return DoublesOf<Float8E5M2>(view);
    case DType::kF8E4M3:
      return DoublesOf<Float8E4M3>(view);
    case DType::kF8E8M0:
      return DoublesOf<Float8E8M0>(view);
    case DType::kF8E4M3Fnuz:
      return DoublesOf<Float8E4M3Fnuz>(view);
    case DType::kF8E5M2Fnuz:
      return DoublesOf<Float8E5M2Fnuz>(view);
    case DType::kI16:
      return DoublesOf<std::int16_t>(view);
    case DType::kU16:
      return DoublesOf<std::uint16_t>(view);
    case DType::kF16:
      return DoublesOf<Float16>(view);
    case DType::kBF16:
      return DoublesOf<BFloat16>(view);
    case DType::kI32:
      return DoublesOf<std::int32_t>(view);
    case DType::kU32:
      return DoublesOf<std::uint32_t>(view);
    case DType::kF32:
      return DoublesOf<float>(view);
    case DType::kF64:
      return DoublesOf<double>(view);
    case DType::kI64:
      return DoublesOf<std::int64_t>(view);
    case DType::kU64:
      return DoublesOf<std::uint64_t>(view);
    case DType::kF4:
    case DType::kF6E2M3:
    case DType::kF6E3M2:
    case DType::kC64:
      break;
  }
  return UnimplementedError(
      fmt::format("elements of {} cannot be read one by one", DTypeName(view.dtype)));
}

StatusOr<std::vector<std::int64_t>> ToInt64s(const TensorView& view) {
  DM_RETURN_IF_ERROR(CheckBytes(view));
  switch (view.dtype) {
    case DType::kU8:
      return Int64sOf<std::uint8_t>(view);
    case DType::kI8:
      return Int64sOf<std::int8_t>(view);
    case DType::kI16:
      return Int64sOf<std::int16_t>(view);
    case DType::kU16:
      return Int64sOf<std::uint16_t>(view);
    case DType::kI32:
      return Int64sOf<std::int32_t>(view);
    case DType::kU32:
      return Int64sOf<std::uint32_t>(view);
    case DType::kI64:
      return Int64sOf<std::int64_t>(view);
    case DType::kU64:
      return Int64sOf<std::uint64_t>(view);
    default:
      return InvalidArgumentError(
          fmt::format("expected a tensor of integers, found {}", DTypeName(view.dtype)));
  }
}

}  // namespace draftmark
