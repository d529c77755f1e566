// The 8-bit floating types of safetensors and CUDA.
//
//   Float8E4M3::FromDouble(0.3).ToDouble()                                   // 0.3125
//   Float8E4M3::FromFloat(1e9f, Float8Overflow::kSaturate).ToFloat()         // 448
//
// Float8E4M3 (no infinity, one NaN code; "E4M3FN") and Float8E5M2 (as IEEE) round once, to nearest
// even, from float or directly from double, bit for bit as cuda_fp8.h does on the host; agreement
// is tested. Float8E8M0 (a power of two, no sign, a scale) and the two FNUZ types (no infinity, no
// negative zero, NaN is 0x80) can only be decoded. Value types; thread-safe as integers are.
#ifndef DRAFTMARK_SRC_TENSOR_FLOAT8_H_
#define DRAFTMARK_SRC_TENSOR_FLOAT8_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "src/tensor/minifloat.h"

namespace draftmark {

// What becomes of a magnitude that rounds past the largest finite value, and of infinity.
enum class Float8Overflow {
  kSaturate,     // the largest finite value (__NV_SATFINITE)
  kNonsaturate,  // infinity for E5M2, NaN for E4M3 (__NV_NOSAT)
};

// Codes up to kLargestFinite are finite, those from kFirstNan on are NaN, one between is infinity.
template <typename Format, std::uint8_t kLargestFinite, std::uint8_t kOverflowCode,
          std::uint8_t kFirstNan, std::uint8_t kQuietNan>
struct Float8Signed {
  std::uint8_t bits = 0;

  static constexpr Float8Signed FromBits(std::uint8_t bits) { return Float8Signed{bits}; }
  static constexpr Float8Signed FromDouble(double value,
                                           Float8Overflow overflow = Float8Overflow::kSaturate) {
    const auto u = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint8_t>((u >> 63) << 7);
    if (value != value) {
      // As CUDA: a quiet NaN that keeps the sign and the payload's leading bits where there is
      // room for them.
      const auto payload =
          static_cast<std::uint8_t>((u >> (52 - kMantissaBits)) & Format::kMantissaMask);
      return Float8Signed{static_cast<std::uint8_t>(sign | kQuietNan | payload)};
    }
    std::uint32_t magnitude = Format::RoundMagnitude(u);
    if (magnitude > kLargestFinite) {
      magnitude = overflow == Float8Overflow::kSaturate ? kLargestFinite : kOverflowCode;
    }
    return Float8Signed{static_cast<std::uint8_t>(sign | magnitude)};
  }
  // Exactly FromDouble, but every NaN becomes 0x7F.
  static constexpr Float8Signed FromFloat(float value,
                                          Float8Overflow overflow = Float8Overflow::kSaturate) {
    if (value != value) return Float8Signed{0x7F};
    return FromDouble(value, overflow);
  }

  constexpr double ToDouble() const {
    const std::uint8_t magnitude = bits & 0x7F;
    double value = Format::Decode(magnitude);
    if (magnitude > kLargestFinite) value = std::numeric_limits<double>::infinity();
    if (magnitude >= kFirstNan) value = std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x80) != 0 ? -value : value;
  }
  constexpr float ToFloat() const { return static_cast<float>(ToDouble()); }
  bool operator==(const Float8Signed&) const = default;  // of the bits: -0 differs from 0

 private:
  static constexpr int kMantissaBits = std::popcount(Format::kMantissaMask);
};

using Float8E4M3 = Float8Signed<Minifloat<3, 7>, 0x7E, 0x7F, 0x7F, 0x7F>;
using Float8E5M2 = Float8Signed<Minifloat<2, 15>, 0x7B, 0x7C, 0x7D, 0x7E>;
static_assert(sizeof(Float8E4M3) == 1 && sizeof(Float8E5M2) == 1);

// 2^(bits - 127); 0xFF is NaN. There is no zero.
struct Float8E8M0 {
  std::uint8_t bits = 0;

  static constexpr Float8E8M0 FromBits(std::uint8_t bits) { return Float8E8M0{bits}; }
  constexpr double ToDouble() const {
    if (bits == 0xFF) return std::numeric_limits<double>::quiet_NaN();
    return std::bit_cast<double>(static_cast<std::uint64_t>(bits - 127 + 1023) << 52);
  }
  constexpr float ToFloat() const { return static_cast<float>(ToDouble()); }
  bool operator==(const Float8E8M0&) const = default;
};

template <typename Format>
struct Float8Fnuz {
  std::uint8_t bits = 0;

  static constexpr Float8Fnuz FromBits(std::uint8_t bits) { return Float8Fnuz{bits}; }
  constexpr double ToDouble() const {
    if (bits == 0x80) return std::numeric_limits<double>::quiet_NaN();
    const double value = Format::Decode(bits & 0x7F);
    return (bits & 0x80) != 0 ? -value : value;
  }
  constexpr float ToFloat() const { return static_cast<float>(ToDouble()); }
  bool operator==(const Float8Fnuz&) const = default;
};

using Float8E4M3Fnuz = Float8Fnuz<Minifloat<3, 8>>;
using Float8E5M2Fnuz = Float8Fnuz<Minifloat<2, 16>>;

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_FLOAT8_H_
