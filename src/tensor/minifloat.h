// Small binary floating-point formats described by two numbers: exact decoding into float64 and one
// correct rounding from it. The common part of float8.h and float16.h.
//
// A format has a sign bit, an exponent field with a bias, and `kMantissaBits` bits of fraction;
// subnormals are as in IEEE 754. What the highest codes mean (infinity, NaN, finite) differs
// between formats and is left to the caller. Pure integer work: the processor's rounding mode and
// flush-to-zero flags have no influence.
#ifndef DRAFTMARK_SRC_TENSOR_MINIFLOAT_H_
#define DRAFTMARK_SRC_TENSOR_MINIFLOAT_H_

#include <bit>
#include <cstdint>

namespace draftmark {

template <int kMantissaBits, int kBias>
struct Minifloat {
  static constexpr std::uint32_t kMantissaMask = (1u << kMantissaBits) - 1;
  static constexpr int kSmallestExponent = 1 - kBias;  // of the normal numbers

  // The value of a finite code without its sign bit. Every value is a normal float64.
  static constexpr double Decode(std::uint32_t magnitude) {
    const int field = static_cast<int>(magnitude >> kMantissaBits);
    const std::uint32_t fraction = magnitude & kMantissaMask;
    const std::uint32_t significand = field == 0 ? fraction : fraction | (1u << kMantissaBits);
    const int exponent = (field == 0 ? 1 : field) - kBias - kMantissaBits;
    const auto power =
        std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << 52);
    return static_cast<double>(significand) * power;
  }

  // The magnitude code nearest to the float64 of these `bits` (sign ignored, no NaN), ties to even,
  // as if the sequence of codes went on past the format's largest one: the caller compares with it.
  static constexpr std::uint32_t RoundMagnitude(std::uint64_t bits) {
    constexpr int kDoubleMantissaBits = 52;
    bits &= ~(std::uint64_t{1} << 63);
    const int field = static_cast<int>(bits >> kDoubleMantissaBits);
    if (field == 0) return 0;  // float64 subnormals are far below every format here
    const int exponent = field - kDoubleBias;
    const std::uint64_t significand =
        (bits & ((std::uint64_t{1} << kDoubleMantissaBits) - 1)) | std::uint64_t{1} << 52;
    const int denormal = exponent < kSmallestExponent ? kSmallestExponent - exponent : 0;
    const int shift = kDoubleMantissaBits - kMantissaBits + denormal;
    if (shift > kDoubleMantissaBits + 1) return 0;  // below half of the smallest subnormal
    const int steps = exponent - kSmallestExponent;
    const std::uint64_t kept = significand >> shift;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    const bool up = rest > half || (rest == half && (kept & 1) != 0);
    // `kept` holds the implicit bit of a normal number, which is the 1 that is missing from
    // `steps` as an exponent field; a carry moves on into the exponent.
    const std::uint64_t base =
        denormal > 0 ? 0 : static_cast<std::uint64_t>(steps) << kMantissaBits;
    return static_cast<std::uint32_t>(base + kept + (up ? 1 : 0));
  }

 private:
  static constexpr int kDoubleBias = 1023;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_MINIFLOAT_H_
