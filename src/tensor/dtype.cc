#include "src/tensor/dtype.h"

#include <array>
#include <cstddef>

#include "src/base/check.h"

namespace draftmark {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::uint64_t bits;
};

constexpr std::array kRows = {
    Row{DType::kBool, "BOOL", 8},
    Row{DType::kF4, "F4", 4},
    Row{DType::kF6E2M3, "F6_E2M3", 6},
    Row{DType::kF6E3M2, "F6_E3M2", 6},
    Row{DType::kU8, "U8", 8},
    Row{DType::kI8, "I8", 8},
    Row{DType::kF8E5M2, "F8_E5M2", 8},
    Row{DType::kF8E4M3, "F8_E4M3", 8},
    Row{DType::kF8E8M0, "F8_E8M0", 8},
    Row{DType::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8},
    Row{DType::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8},
    Row{DType::kI16, "I16", 16},
    Row{DType::kU16, "U16", 16},
    Row{DType::kF16, "F16", 16},
    Row{DType::kBF16, "BF16", 16},
    Row{DType::kI32, "I32", 32},
    Row{DType::kU32, "U32", 32},
    Row{DType::kF32, "F32", 32},
    Row{DType::kC64, "C64", 64},
    Row{DType::kF64, "F64", 64},
    Row{DType::kI64, "I64", 64},
    Row{DType::kU64, "U64", 64},
};

constexpr auto kDTypes = [] {
  std::array<DType, kRows.size()> dtypes{};
  for (std::size_t i = 0; i < kRows.size(); ++i) dtypes[i] = kRows[i].dtype;
  return dtypes;
}();

// The enumerators count from 0 in the table's order, so the table is indexed by them.
static_assert([] {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}());

const Row& RowOf(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  DM_CHECK(index < kRows.size());
  return kRows[index];
}

}  // namespace

std::span<const DType> AllDTypes() { return kDTypes; }
std::uint64_t DTypeBits(DType dtype) { return RowOf(dtype).bits; }
std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace draftmark
