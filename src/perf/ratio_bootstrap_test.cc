#include "src/perf/ratio_bootstrap.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

std::vector<double> Uniform(std::size_t count, std::uint64_t seed, double level) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(level * (1 + UniformAt(seed, i)));
  return values;
}

TEST(RatioBootstrapTest, EqualValuesHaveNoSpread) {
  const RatioBootstrap bootstrap(std::vector<double>(10, 2.0), std::vector<double>(7, 3.0));
  EXPECT_EQ(bootstrap.Central(0.998).low, 1.5);
  EXPECT_EQ(bootstrap.Central(0.998).high, 1.5);
}

TEST(RatioBootstrapTest, DeterministicAndBlindToOrder) {
  const std::vector<double> base = Uniform(10, 1, 1);
  const std::vector<double> next = Uniform(11, 2, 1);
  const std::vector<double> reversed(next.rbegin(), next.rend());
  const Interval first = RatioBootstrap(base, next).Central(0.95);
  const Interval second = RatioBootstrap(base, reversed).Central(0.95);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  const Interval other_seed = RatioBootstrap(base, next, 5).Central(0.95);
  EXPECT_NE(first.low, other_seed.low);
}

TEST(RatioBootstrapTest, WiderWithMoreConfidenceAndScaledWithTheValues) {
  const std::vector<double> base = Uniform(10, 1, 1);
  const Interval usual = RatioBootstrap(base, Uniform(10, 2, 4)).Central(0.95);
  const Interval wide = RatioBootstrap(base, Uniform(10, 2, 4)).Central(0.998);
  EXPECT_LT(wide.low, usual.low);
  EXPECT_GT(wide.high, usual.high);
  const Interval scaled = RatioBootstrap(base, Uniform(10, 2, 8)).Central(0.95);
  EXPECT_DOUBLE_EQ(scaled.low, 2 * usual.low);
}

// One fixed side of one value leaves the bootstrap of a median, whose distribution is known: of
// three values the median of a draw is the lowest in 7 of 27, the middle in 13, the highest in 7.
TEST(RatioBootstrapTest, QuantilesOfAKnownDistribution) {
  const RatioBootstrap bootstrap(std::vector<double>{1}, std::vector<double>{1, 2, 3});
  EXPECT_EQ(bootstrap.Central(0.4).low, 1.0 * 2);  // 0.30 of the mass is left out, 7/27 is 0.26
  EXPECT_EQ(bootstrap.Central(0.4).high, 2.0);
  EXPECT_EQ(bootstrap.Central(0.56).low, 1.0);  // 0.22
  EXPECT_EQ(bootstrap.Central(0.56).high, 3.0);
}

TEST(RatioBootstrapTest, CoversTheTrueRatio) {
  // 95 % intervals of 16 + 16 values: between 92 % and 99 % of 1,000 hold the truth.
  int held = 0;
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    const Interval interval =
        RatioBootstrap(Uniform(16, 2 * trial, 1), Uniform(16, 2 * trial + 1, 1)).Central(0.95);
    held += interval.low <= 1 && interval.high >= 1;
  }
  EXPECT_GE(held, 920);
  EXPECT_LE(held, 990);
}

}  // namespace
}  // namespace draftmark
