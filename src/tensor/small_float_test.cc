// BFloat16, Float16 and the 8-bit floats against a slow exact rounding and against known values.
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/float16.h"
#include "src/tensor/float8.h"
#include "src/tensor/rounding_points.h"

namespace draftmark {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How each type looks to the tests: codes of the largest finite value, and what overflow gives.
struct BFloat16Traits {
  using Type = BFloat16;
  static constexpr std::uint32_t kLargest = 0x7F7F, kSign = 0x8000, kOverflow = 0x7F80;
  static constexpr std::uint32_t kNan = 0x7FFF;
  static Type From(double x) { return Type::FromDouble(x); }
  static Type From(float x) { return Type::FromFloat(x); }
};
struct Float16Traits {
  using Type = Float16;
  static constexpr std::uint32_t kLargest = 0x7BFF, kSign = 0x8000, kOverflow = 0x7C00;
  static constexpr std::uint32_t kNan = 0x7FFF;
  static Type From(double x) { return Type::FromDouble(x); }
  static Type From(float x) { return Type::FromFloat(x); }
};
template <typename Float8, std::uint32_t kLargestFinite, std::uint32_t kOverflowCode,
          Float8Overflow kMode>
struct Float8Traits {
  using Type = Float8;
  static constexpr std::uint32_t kLargest = kLargestFinite, kSign = 0x80;
  static constexpr std::uint32_t kOverflow = kOverflowCode;
  static constexpr std::uint32_t kNan = 0x7F;  // from float
  static Type From(double x) { return Type::FromDouble(x, kMode); }
  static Type From(float x) { return Type::FromFloat(x, kMode); }
};

template <typename Traits>
class SmallFloatTest : public ::testing::Test {
 protected:
  using Type = typename Traits::Type;

  std::vector<double> magnitudes_ = Magnitudes(Traits::kLargest, [](std::uint32_t code) {
    return Type::FromBits(static_cast<decltype(Type::bits)>(code)).ToDouble();
  });

  // The code that x must round to.
  std::uint32_t Expected(double x) const {
    std::uint32_t code = SlowRound(magnitudes_, x);
    if (code > Traits::kLargest) code = Traits::kOverflow;
    return code | (std::signbit(x) ? Traits::kSign : 0);
  }
  template <typename T>
  void Check(T x) const {
    ASSERT_EQ(Traits::From(x).bits, Expected(x)) << std::hexfloat << x;
  }
};

using AllTraits =
    ::testing::Types<BFloat16Traits, Float16Traits,
                     Float8Traits<Float8E4M3, 0x7E, 0x7E, Float8Overflow::kSaturate>,
                     Float8Traits<Float8E4M3, 0x7E, 0x7F, Float8Overflow::kNonsaturate>,
                     Float8Traits<Float8E5M2, 0x7B, 0x7B, Float8Overflow::kSaturate>,
                     Float8Traits<Float8E5M2, 0x7B, 0x7C, Float8Overflow::kNonsaturate>>;
TYPED_TEST_SUITE(SmallFloatTest, AllTraits);

TYPED_TEST(SmallFloatTest, DecodedValuesAscend) {
  EXPECT_EQ(this->magnitudes_[0], 0.0);
  for (std::size_t i = 1; i < this->magnitudes_.size(); ++i) {
    ASSERT_LT(this->magnitudes_[i - 1], this->magnitudes_[i]) << i;
  }
}

TYPED_TEST(SmallFloatTest, EveryCodeComesBack) {
  using Value = typename TypeParam::Type;
  for (std::uint32_t code = 0; code <= TypeParam::kLargest; ++code) {
    for (const std::uint32_t bits : {code, code | TypeParam::kSign}) {
      const Value value = Value::FromBits(static_cast<decltype(Value::bits)>(bits));
      ASSERT_EQ(TypeParam::From(value.ToDouble()).bits, bits);
      ASSERT_EQ(TypeParam::From(value.ToFloat()).bits, bits);
      ASSERT_EQ(std::signbit(value.ToDouble()), bits != code);
    }
  }
}

TYPED_TEST(SmallFloatTest, MidpointsAndNeighboursFromDouble) {
  for (const double x : RoundingPoints<double>(this->magnitudes_)) {
    this->Check(x);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(SmallFloatTest, MidpointsAndNeighboursFromFloat) {
  for (const float x : RoundingPoints<float>(this->magnitudes_)) {
    this->Check(x);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(SmallFloatTest, RandomBits) {
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t bits = random();
    // All of float64, then only exponents where this format has values.
    for (const double x :
         {std::bit_cast<double>(bits),
          std::ldexp(std::bit_cast<double>((bits & 0x800FFFFFFFFFFFFF) | 0x3FF0000000000000),
                     static_cast<int>(bits >> 52 & 0xFF) - 140)}) {
      if (std::isnan(x)) continue;
      this->Check(x);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(SmallFloatTest, NanFromFloat) {
  using Value = typename TypeParam::Type;
  for (const float nan : FloatNans()) EXPECT_EQ(TypeParam::From(nan).bits, TypeParam::kNan);
  for (const double nan : DoubleNans()) {
    EXPECT_TRUE(std::isnan(TypeParam::From(nan).ToDouble()));
  }
  EXPECT_TRUE(std::isnan(Value::FromBits(TypeParam::kNan).ToDouble()));
  EXPECT_TRUE(std::isnan(Value::FromBits(TypeParam::kNan).ToFloat()));
}

TEST(BFloat16Test, KnownValuesAndDoubleRoundingTraps) {
  EXPECT_EQ(BFloat16::FromFloat(1.0f).bits, 0x3F80);
  EXPECT_EQ(BFloat16::FromDouble(1.0 / 3).ToDouble(), 0.333984375);
  // 1 + 2^-8 is the midpoint between 1 and 1 + 2^-7; a part below float32's reach decides.
  const double midpoint = 1 + 0x1p-8;
  EXPECT_EQ(BFloat16::FromDouble(midpoint).bits, 0x3F80);
  EXPECT_EQ(BFloat16::FromDouble(midpoint + 0x1p-50).bits, 0x3F81);
  EXPECT_EQ(BFloat16::FromFloat(static_cast<float>(midpoint + 0x1p-50)).bits, 0x3F80);
  EXPECT_EQ(BFloat16::FromDouble(midpoint + 0x1p-7 - 0x1p-50).bits, 0x3F81);
  // Subnormal results, underflow of float32 and overflow.
  EXPECT_EQ(BFloat16::FromDouble(0x1p-133).bits, 0x0001);
  EXPECT_EQ(BFloat16::FromDouble(0x1p-134).bits, 0x0000);
  EXPECT_EQ(BFloat16::FromDouble(std::nextafter(0x1p-134, 1.0)).bits, 0x0001);
  EXPECT_EQ(BFloat16::FromDouble(-1e-300).bits, 0x8000);
  EXPECT_EQ(BFloat16::FromDouble(0x1.FFp127).bits, 0x7F80);
  EXPECT_EQ(BFloat16::FromDouble(std::nextafter(0x1.FFp127, 0.0)).bits, 0x7F7F);
  EXPECT_EQ(BFloat16::FromDouble(-1e300).bits, 0xFF80);
  EXPECT_EQ(BFloat16::FromBits(0x7F80).ToDouble(), kInfinity);
}

TEST(Float16Test, KnownValues) {
  EXPECT_EQ(Float16::FromBits(0x3C00).ToDouble(), 1.0);
  EXPECT_EQ(Float16::FromBits(0x0001).ToDouble(), 0x1p-24);
  EXPECT_EQ(Float16::FromBits(0x7BFF).ToDouble(), 65504.0);
  EXPECT_EQ(Float16::FromBits(0xFC00).ToDouble(), -kInfinity);
}

TEST(Float8Test, KnownValues) {
  EXPECT_EQ(Float8E4M3::FromBits(0x38).ToDouble(), 1.0);
  EXPECT_EQ(Float8E4M3::FromBits(0x7E).ToDouble(), 448.0);
  EXPECT_EQ(Float8E4M3::FromBits(0x01).ToDouble(), 0x1p-9);
  EXPECT_TRUE(std::isnan(Float8E4M3::FromBits(0xFF).ToDouble()));
  EXPECT_EQ(Float8E5M2::FromBits(0x3C).ToDouble(), 1.0);
  EXPECT_EQ(Float8E5M2::FromBits(0x7B).ToDouble(), 57344.0);
  EXPECT_EQ(Float8E5M2::FromBits(0xFC).ToDouble(), -kInfinity);
  EXPECT_TRUE(std::isnan(Float8E5M2::FromBits(0x7D).ToDouble()));
  EXPECT_EQ(Float8E4M3::FromDouble(464).bits, 0x7E);  // a tie between 448 and the missing 480
  EXPECT_EQ(Float8E4M3::FromDouble(464.1, Float8Overflow::kNonsaturate).bits, 0x7F);
  EXPECT_EQ(Float8E4M3::FromDouble(-kInfinity).bits, 0xFE);
  EXPECT_EQ(Float8E5M2::FromDouble(61440, Float8Overflow::kNonsaturate).bits, 0x7C);
  EXPECT_EQ(Float8E5M2::FromDouble(-kInfinity).bits, 0xFB);
}

TEST(Float8Test, E8M0IsAPowerOfTwo) {
  EXPECT_EQ(Float8E8M0::FromBits(0).ToDouble(), 0x1p-127);
  EXPECT_EQ(Float8E8M0::FromBits(127).ToDouble(), 1.0);
  EXPECT_EQ(Float8E8M0::FromBits(254).ToDouble(), 0x1p127);
  EXPECT_TRUE(std::isnan(Float8E8M0::FromBits(255).ToDouble()));
  EXPECT_EQ(Float8E8M0::FromBits(0).ToFloat(), 0x1p-127f);  // a subnormal of float32
}

TEST(Float8Test, FnuzHasOneNanAndNoInfinity) {
  EXPECT_EQ(Float8E4M3Fnuz::FromBits(0x40).ToDouble(), 1.0);
  EXPECT_EQ(Float8E4M3Fnuz::FromBits(0x7F).ToDouble(), 240.0);
  EXPECT_EQ(Float8E4M3Fnuz::FromBits(0x81).ToDouble(), -0x1p-10);
  EXPECT_TRUE(std::isnan(Float8E4M3Fnuz::FromBits(0x80).ToDouble()));
  EXPECT_EQ(Float8E5M2Fnuz::FromBits(0x40).ToDouble(), 1.0);
  EXPECT_EQ(Float8E5M2Fnuz::FromBits(0xFF).ToDouble(), -57344.0);
  EXPECT_TRUE(std::isnan(Float8E5M2Fnuz::FromBits(0x80).ToDouble()));
}

// The slow rounding itself, on a format that can be checked by eye: 0, 1, 2, 3, (4).
TEST(SlowRoundTest, ByEye) {
  const std::vector<double> magnitudes = {0, 1, 2, 3, 4};
  const std::vector<std::pair<double, std::uint32_t>> kCases = {
      {0, 0},   {0.5, 0}, {0.6, 1},   {1.5, 2},  {2.4, 2}, {2.5, 2},
      {2.6, 3}, {3.5, 4}, {3.499, 3}, {1e99, 4}, {-1, 1},  {kInfinity, 4}};
  for (const auto& [x, code] : kCases) EXPECT_EQ(SlowRound(magnitudes, x), code) << x;
}

}  // namespace
}  // namespace draftmark
