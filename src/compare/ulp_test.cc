#include "src/compare/ulp.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(UlpTest, SpacingOfBf16) {
  EXPECT_EQ(Spacing(1.0, UlpUnit::kBf16), std::ldexp(1, -7));
  EXPECT_EQ(Spacing(-1.99, UlpUnit::kBf16), std::ldexp(1, -7));
  EXPECT_EQ(Spacing(2.0, UlpUnit::kBf16), std::ldexp(1, -6));
  EXPECT_EQ(Spacing(0.0, UlpUnit::kBf16), std::ldexp(1, -133));    // the smallest subnormal
  EXPECT_EQ(Spacing(1e-40, UlpUnit::kBf16), std::ldexp(1, -133));  // in the subnormal range
  EXPECT_TRUE(std::isnan(Spacing(kInf, UlpUnit::kBf16)));
}

// What <limits> and nextafter say of the compiler's own formats.
TEST(UlpTest, SpacingOfOtherFormats) {
  EXPECT_EQ(Spacing(1.0, UlpUnit::kF32), std::numeric_limits<float>::epsilon());
  EXPECT_EQ(Spacing(0.0, UlpUnit::kF32), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(Spacing(5.5, UlpUnit::kF32), std::nextafter(5.5F, 6.0F) - 5.5F);
  EXPECT_EQ(Spacing(1.0, UlpUnit::kF64), std::numeric_limits<double>::epsilon());
  EXPECT_EQ(Spacing(0.0, UlpUnit::kF64), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(Spacing(1e300, UlpUnit::kF64), std::nextafter(1e300, kInf) - 1e300);
}

TEST(UlpTest, Names) {
  EXPECT_STREQ(UlpUnitName(UlpUnit::kBf16), "BF16");
  EXPECT_STREQ(UlpUnitName(UlpUnit::kF32), "F32");
  EXPECT_STREQ(UlpUnitName(UlpUnit::kF64), "F64");
}

TEST(UlpTest, Distances) {
  EXPECT_EQ(UlpDistance(1.0, 1.0 + std::ldexp(1, -7), UlpUnit::kBf16), 1);
  EXPECT_EQ(UlpDistance(1.0, 1.0 + std::ldexp(1, -8), UlpUnit::kBf16), 0.5);
  EXPECT_EQ(UlpDistance(1.0, std::nextafter(1.0, 2.0), UlpUnit::kF64), 1);
  EXPECT_EQ(UlpDistance(0.0, -0.0, UlpUnit::kBf16), 0);
  EXPECT_EQ(UlpDistance(kNan, kNan, UlpUnit::kBf16), 0);
  EXPECT_EQ(UlpDistance(kInf, kInf, UlpUnit::kBf16), 0);
  EXPECT_EQ(UlpDistance(kInf, -kInf, UlpUnit::kBf16), kInf);
  EXPECT_EQ(UlpDistance(1.0, kNan, UlpUnit::kBf16), kInf);
  EXPECT_EQ(UlpDistance(kNan, 1.0, UlpUnit::kBf16), kInf);
}

}  // namespace
}  // namespace draftmark
