#include "src/operations/operands.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

// Every twelfth row is full size again: 2^-11 squared is far below an epsilon of 1e-5.
constexpr std::uint64_t kRowScales = 12;

double RealAt(Fill fill, std::uint64_t seed, std::uint64_t index, std::uint64_t columns) {
  const double unit = 2 * UniformAt(seed, index) - 1;  // [-1, 1)
  switch (fill) {
    case Fill::kActivation:
      return 2 * unit;
    case Fill::kRowScaled:
      return std::ldexp(2 * unit, -static_cast<int>(index / columns % kRowScales));
    case Fill::kWeight:
      return unit * std::sqrt(3.0 / static_cast<double>(columns));
    case Fill::kNormWeight:
      return 1 + 0.5 * unit;
    case Fill::kLogits:
      return 16 * unit;
    case Fill::kPoison:
    case Fill::kIds:
    case Fill::kPrepared:
      break;
  }
  return 0;
}

template <typename T>
void Put(Operand& operand, std::uint64_t index, T value) {
  std::memcpy(operand.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

}  // namespace

void FillOperand(Fill fill, std::uint64_t seed, std::uint64_t limit, Operand& operand) {
  if (fill == Fill::kPrepared) return;
  if (fill == Fill::kPoison) {
    std::ranges::fill(operand.bytes, std::byte{0xFF});
    return;
  }
  const std::uint64_t elements = operand.view().elements();
  const std::uint64_t columns = operand.shape.empty() ? 1 : operand.shape.back();
  for (std::uint64_t i = 0; i < elements; ++i) {
    if (fill == Fill::kIds) {
      DM_CHECK(operand.dtype == DType::kU32 && limit > 0);
      Put(operand, i, static_cast<std::uint32_t>(BitsAt(seed, i) % limit));
    } else if (operand.dtype == DType::kF32) {
      Put(operand, i, static_cast<float>(RealAt(fill, seed, i, columns)));
    } else {
      DM_CHECK(operand.dtype == DType::kBF16);
      Put(operand, i, BFloat16::FromDouble(RealAt(fill, seed, i, columns)));
    }
  }
}

}  // namespace draftmark
