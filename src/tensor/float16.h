// Float16: IEEE binary16, decoded exactly and rounded to nearest even.
//
//   Float16::FromBits(0x3C00).ToDouble() == 1.0
//
// A value type; thread-safe as an integer is.
#ifndef DRAFTMARK_SRC_TENSOR_FLOAT16_H_
#define DRAFTMARK_SRC_TENSOR_FLOAT16_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "src/tensor/minifloat.h"

namespace draftmark {

struct Float16 {
  std::uint16_t bits = 0;

  static constexpr Float16 FromBits(std::uint16_t bits) { return Float16{bits}; }
  // One rounding; overflow gives infinity, any NaN gives 0x7FFF as cuda_fp16.h does on the host.
  static constexpr Float16 FromDouble(double value) {
    const auto u = std::bit_cast<std::uint64_t>(value);
    if (value != value) return Float16{0x7FFF};
    std::uint32_t magnitude = Format::RoundMagnitude(u);
    if (magnitude > kInfinity) magnitude = kInfinity;
    return Float16{static_cast<std::uint16_t>((u >> 63) << 15 | magnitude)};
  }
  static constexpr Float16 FromFloat(float value) { return FromDouble(value); }

  constexpr double ToDouble() const {
    const std::uint32_t magnitude = bits & 0x7FFFu;
    double value = Format::Decode(magnitude);
    if (magnitude == kInfinity) value = std::numeric_limits<double>::infinity();
    if (magnitude > kInfinity) value = std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000u) != 0 ? -value : value;
  }
  constexpr float ToFloat() const { return static_cast<float>(ToDouble()); }
  bool operator==(const Float16&) const = default;  // of the bits: -0 differs from 0

 private:
  using Format = Minifloat<10, 15>;
  static constexpr std::uint32_t kInfinity = 0x7C00;
};
static_assert(sizeof(Float16) == 2);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_FLOAT16_H_
