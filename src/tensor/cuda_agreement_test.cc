// Our conversions against NVIDIA's host code, bit for bit: all decodes, and all rounding points
// (rounding_points.h) from float and from double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>

#include "gtest/gtest.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/cuda_host_floats.h"
#include "src/tensor/float16.h"
#include "src/tensor/float8.h"
#include "src/tensor/rounding_points.h"

namespace draftmark {
namespace {

// Equal bits, or both NaN: decoders differ in the payload they give a float, which no arithmetic
// sees.
bool SameFloat(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// All doubles and floats where `ours` and `cuda` are compared, given the format's values.
template <typename Ours, typename Cuda>
void ExpectSameRounding(const std::vector<double>& magnitudes, Ours&& ours, Cuda&& cuda) {
  std::vector<double> doubles = RoundingPoints<double>(magnitudes);
  for (const double nan : DoubleNans()) doubles.push_back(nan);
  for (const double x : doubles) ASSERT_EQ(ours(x), cuda(x)) << std::hexfloat << x;
  std::vector<float> floats = RoundingPoints<float>(magnitudes);
  for (const float nan : FloatNans()) floats.push_back(nan);
  for (const float x : floats) ASSERT_EQ(ours(x), cuda(x)) << std::hexfloat << x;
}

TEST(CudaAgreementTest, BFloat16) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto code = static_cast<std::uint16_t>(bits);
    ASSERT_TRUE(SameFloat(BFloat16::FromBits(code).ToFloat(), cuda_host::DecodeBFloat16(code)))
        << bits;
  }
  const auto magnitudes = Magnitudes(0x7F7F, [](std::uint32_t code) {
    return BFloat16::FromBits(static_cast<std::uint16_t>(code)).ToDouble();
  });
  struct Ours {
    unsigned operator()(double x) const { return BFloat16::FromDouble(x).bits; }
    unsigned operator()(float x) const { return BFloat16::FromFloat(x).bits; }
  };
  ExpectSameRounding(magnitudes, Ours(), [](auto x) { return unsigned{cuda_host::ToBFloat16(x)}; });
}

TEST(CudaAgreementTest, Float16) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto code = static_cast<std::uint16_t>(bits);
    ASSERT_TRUE(SameFloat(Float16::FromBits(code).ToFloat(), cuda_host::DecodeFloat16(code)))
        << bits;
  }
  const auto magnitudes = Magnitudes(0x7BFF, [](std::uint32_t code) {
    return Float16::FromBits(static_cast<std::uint16_t>(code)).ToDouble();
  });
  struct Ours {
    unsigned operator()(double x) const { return Float16::FromDouble(x).bits; }
    unsigned operator()(float x) const { return Float16::FromFloat(x).bits; }
  };
  ExpectSameRounding(magnitudes, Ours(), [](auto x) { return unsigned{cuda_host::ToFloat16(x)}; });
}

template <typename Float8>
void ExpectFloat8Agrees(std::uint8_t largest_finite, __nv_fp8_interpretation_t interpretation) {
  for (unsigned bits = 0; bits <= 0xFF; ++bits) {
    const auto code = static_cast<std::uint8_t>(bits);
    ASSERT_TRUE(
        SameFloat(Float8::FromBits(code).ToFloat(), cuda_host::DecodeFloat8(code, interpretation)))
        << bits;
  }
  const auto magnitudes = Magnitudes(largest_finite, [](std::uint32_t code) {
    return Float8::FromBits(static_cast<std::uint8_t>(code)).ToDouble();
  });
  for (const auto& [ours, cuda] : {std::pair(Float8Overflow::kSaturate, __NV_SATFINITE),
                                   std::pair(Float8Overflow::kNonsaturate, __NV_NOSAT)}) {
    struct Ours {
      Float8Overflow overflow;
      unsigned operator()(double x) const { return Float8::FromDouble(x, overflow).bits; }
      unsigned operator()(float x) const { return Float8::FromFloat(x, overflow).bits; }
    };
    const __nv_saturation_t saturation = cuda;
    ExpectSameRounding(magnitudes, Ours{ours}, [=](auto x) {
      return unsigned{cuda_host::ToFloat8(x, saturation, interpretation)};
    });
  }
}

TEST(CudaAgreementTest, Float8E4M3) { ExpectFloat8Agrees<Float8E4M3>(0x7E, __NV_E4M3); }
TEST(CudaAgreementTest, Float8E5M2) { ExpectFloat8Agrees<Float8E5M2>(0x7B, __NV_E5M2); }

TEST(CudaAgreementTest, Float8E8M0) {
  for (unsigned bits = 0; bits <= 0xFF; ++bits) {
    const auto code = static_cast<std::uint8_t>(bits);
    EXPECT_TRUE(SameFloat(Float8E8M0::FromBits(code).ToFloat(), cuda_host::DecodeE8M0(code)))
        << bits;
  }
}

}  // namespace
}  // namespace draftmark
