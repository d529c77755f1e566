#include "src/perf/run_value.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(RunValueTest, DropsTheFastestTenthAndTheSlowestFifth) {
  // 1 .. 10 in some order: 1, 9 and 10 go.
  const RunValue ten = RunValueOf({10, 3, 5, 1, 7, 9, 2, 8, 4, 6});
  EXPECT_DOUBLE_EQ(ten.value, (2 + 3 + 4 + 5 + 6 + 7 + 8) / 7.0);
  EXPECT_DOUBLE_EQ(ten.median, 5.5);
  EXPECT_EQ(ten.samples, 10u);
  std::vector<double> thirty;
  for (int i = 1; i <= 30; ++i) thirty.push_back(i);
  EXPECT_DOUBLE_EQ(RunValueOf(thirty).value, (4 + 24) / 2.0);  // 4 .. 24
}

TEST(RunValueTest, FewSamplesKeepWhatCannotBeDroppedWhole) {
  EXPECT_DOUBLE_EQ(RunValueOf({7}).value, 7);
  EXPECT_DOUBLE_EQ(RunValueOf({7}).median, 7);
  EXPECT_DOUBLE_EQ(RunValueOf({1, 2, 3, 10}).value, 4);
  EXPECT_DOUBLE_EQ(RunValueOf({1, 2, 3, 4, 100}).value, 2.5);  // the slowest of five
}

TEST(RunValueTest, OneSampleInFiveMayBeAnything) {
  std::vector<double> samples(30, 1.0);
  for (int i = 0; i < 6; ++i) samples[static_cast<std::size_t>(i)] = 1e6;
  EXPECT_DOUBLE_EQ(RunValueOf(samples).value, 1);
}

TEST(MedianTest, OddAndEven) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({3, 1}), 2);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({1e308, 1.5e308}), 1.25e308);  // no overflow on the way
}

TEST(PooledVariationTest, AboutEachSidesOwnMean) {
  const std::vector<double> base = {9, 11};
  const std::vector<double> next = {90, 100, 110};
  // Squares 0.01 * 2 and 0.01 * 2 over 1 + 2 degrees of freedom.
  EXPECT_DOUBLE_EQ(PooledVariation(base, next), std::sqrt(0.04 / 3));
  EXPECT_DOUBLE_EQ(PooledVariation({}, next), 0.1);
  EXPECT_EQ(PooledVariation({}, {}), 0);
  EXPECT_EQ(PooledVariation(std::vector<double>{5.0}, std::vector<double>{7.0}), 0);
}

}  // namespace
}  // namespace draftmark
