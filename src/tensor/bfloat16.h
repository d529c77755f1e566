// BFloat16: the upper half of an IEEE float32, with round-to-nearest-even from float and directly
// from double.
//
//   BFloat16::FromDouble(1.0 / 3).ToDouble()   // 0.333984375
//
// Rounding from double is one rounding, never double -> float -> bfloat16 (which can differ at
// midpoints). NaN becomes the quiet NaN 0x7FFF, as cuda_bf16.h gives on the host. Agreement with
// cuda_bf16.h is tested. A value type; thread-safe as an integer is.
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
    // Round to odd into float32 first: 24 bits are more than 8 + 2, which keeps the final rounding
    // exact (float32 subnormals too, since both formats have the same smallest exponent and the
    // bfloat16 grid is 2^16 times coarser there).
    const auto nearest = static_cast<float>(value);
    if (nearest != nearest) return BFloat16{0x7FFF};
    auto u = std::bit_cast<std::uint32_t>(nearest);
    const double back = nearest;
    // A finite double that rounds to infinity lies above every midpoint of bfloat16 as well, so
    // infinity is right and needs no sticky bit.
    if (back != value && (u & 0x7FFFFFFFu) != 0x7F800000u) {
      // Truncate towards zero, then set the sticky bit.
      const bool away = (value < 0 ? -value : value) < (back < 0 ? -back : back);
      if (away) --u;
      u |= 1u;
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
