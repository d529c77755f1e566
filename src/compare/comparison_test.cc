#include "src/compare/comparison.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ComparisonTest, EqualTensors) {
  const std::vector<double> x = {1, -2, 0, 4};
  const Comparison c = Compare({2, 2}, x, x, UlpUnit::kBf16);
  EXPECT_EQ(c.relative_l2, 0);
  EXPECT_EQ(c.max_abs, 0);
  EXPECT_EQ(DescribeHistogram(c), "0: 4");
}

TEST(ComparisonTest, FindsTheWorstElement) {
  const std::vector<double> expected = {3, 4, 0, 0};
  const std::vector<double> got = {3, 4, 0, 0.5};
  const Comparison c = Compare({2, 2}, expected, got, UlpUnit::kBf16);
  EXPECT_DOUBLE_EQ(c.relative_l2, 0.1);
  EXPECT_EQ(c.worst_index, 3u);
  EXPECT_EQ(DescribeWorst(c).substr(0, 33), "[1, 1]: expected 0, got 0.5, 5.44");
  EXPECT_EQ(DescribeHistogram(c), "0: 3 | >4096: 1");
}

TEST(ComparisonTest, BucketsByUlps) {
  const double ulp = std::ldexp(1, -7);
  const std::vector<double> expected(4, 1.0);
  const std::vector<double> got = {1.0, 1 + 0.25 * ulp, 1 + ulp, 1 + 3 * ulp};
  EXPECT_EQ(DescribeHistogram(Compare({4}, expected, got, UlpUnit::kBf16)),
            "0: 1 | <=0.5: 1 | <=1: 1 | <=4: 1");
}

TEST(ComparisonTest, NonfiniteWhereNoneBelongsIsInfinitelyWrong) {
  for (const double bad : {kInf, -kInf, std::nan("")}) {
    const std::vector<double> expected = {1, 2, 100};
    const std::vector<double> got = {1, bad, 0};
    const Comparison c = Compare({3}, expected, got, UlpUnit::kBf16);
    EXPECT_EQ(c.relative_l2, kInf);
    EXPECT_EQ(c.worst_index, 1u);
    EXPECT_EQ(c.nonfinite_mismatches, 1u);
    // And the other way round: a finite value where the reference is not.
    EXPECT_EQ(Compare({3}, got, expected, UlpUnit::kBf16).relative_l2, kInf);
  }
}

TEST(ComparisonTest, MatchingNonfiniteValuesAreEqual) {
  const std::vector<double> x = {1, -kInf, std::nan("")};
  EXPECT_EQ(Compare({3}, x, x, UlpUnit::kF64).relative_l2, 0);
}

TEST(ComparisonTest, AgainstZero) {
  const std::vector<double> zero = {0, 0};
  const std::vector<double> something = {0, 1e-30};
  EXPECT_EQ(Compare({2}, zero, zero, UlpUnit::kF64).relative_l2, 0);
  EXPECT_EQ(Compare({2}, zero, something, UlpUnit::kF64).relative_l2, kInf);
  EXPECT_EQ(Compare({0}, {}, {}, UlpUnit::kF64).relative_l2, 0);
}

}  // namespace
}  // namespace draftmark
