// Element types of tensors: exactly those of the safetensors format, under its names.
//
//   DTypeName(DType::kBF16) == "BF16"
//   DTypeFromName("F8_E4M3") == DType::kF8E4M3
//
// All functions are pure and thread-safe.
#ifndef DRAFTMARK_SRC_TENSOR_DTYPE_H_
#define DRAFTMARK_SRC_TENSOR_DTYPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace draftmark {

// The order is the format's: the reference writer lays tensors out by descending position here,
// which keeps every tensor aligned to its element. F4 and the F6 types pack several elements into
// whole bytes and are kept as bytes here: they have no per-element access.
enum class DType {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

// Every dtype once, in the order above.
std::span<const DType> AllDTypes();
// Width of one element in bits (4 for F4, 6 for the F6 types).
std::uint64_t DTypeBits(DType dtype);
// "BF16", "F8_E4M3", ... as written in safetensors headers.
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_DTYPE_H_
