// BFloat16: the upper half of an IEEE float32, with round-to-nearest-even from float and directly
// from double.
//
// Rounding from double is one rounding, never double -> float -> bfloat16 (which can differ at
// midpoints). NaN becomes the quiet NaN 0x7FFF, as cuda_bf16.h gives on the host. Agreement with
// cuda_bf16.h is tested.
#ifndef DRAFTMARK_SRC_TENSOR_BFLOAT16_H_
#define DRAFTMARK_SRC_TENSOR_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace draftmark {

struct BFloat16 {
  std::uint16_t bits = 0;

  static BFloat16 FromBits(std::uint16_t bits) { return BFloat16{bits}; }
  static BFloat16 FromFloat(float value) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) return BFloat16{0x7FFF};
    u += 0x7FFFu + ((u >> 16) & 1u);  // carries into the exponent, up to infinity
    return BFloat16{static_cast<std::uint16_t>(u >> 16)};
  }
  static BFloat16 FromDouble(double value) {
    // Round to odd into float32 first (24 bits are more than 8 + 2), which keeps the final rounding
    // exact.
    const auto nearest = static_cast<float>(value);
    if (nearest != nearest) return BFloat16{0x7FFF};
    std::uint32_t u = std::bit_cast<std::uint32_t>(nearest);
    const double back = nearest;
    if (back != value && (u & 0x7FFFFFFFu) <= 0x7F7FFFFFu) {
      // Truncate towards zero, then set the sticky bit.
      const bool away = (value < 0 ? -value : value) < (back < 0 ? -back : back);
      if (away) --u;
      u |= 1u;
    } else if (back != value && (value < 0 ? -value : value) < 3.4028236e38) {
      // Finite in double but rounded to infinity: the largest finite float with its sticky bit
      // already set.
      u = (u & 0x80000000u) | 0x7F7FFFFFu;
    }
    return FromFloat(std::bit_cast<float>(u));
  }
  float ToFloat() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  double ToDouble() const { return ToFloat(); }
  bool operator==(const BFloat16&) const = default;  // of the bits: -0 differs from 0
};
static_assert(sizeof(BFloat16) == 2);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_BFLOAT16_H_
