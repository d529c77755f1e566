#include "src/compare/tolerance.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kUlp = std::ldexp(1, -7);  // of BF16 at 1

TEST(ToleranceTest, ExactAllowsNothing) {
  const std::vector<double> oracle = {1, 2};
  const BoundedComparison equal = CompareWithin({2}, oracle, oracle, Bounds(Exact(), oracle));
  EXPECT_TRUE(equal.passed());
  EXPECT_EQ(equal.used_share, 0);
  const std::vector<double> off = {1, std::nextafter(2.0, 3.0)};
  const BoundedComparison wrong = CompareWithin({2}, oracle, off, Bounds(Exact(), oracle));
  EXPECT_FALSE(wrong.passed());
  EXPECT_EQ(wrong.used_share, kInf);
  EXPECT_EQ(wrong.tightest, 1u);
}

TEST(ToleranceTest, SingleRoundAllowsOneSpacingAtTheValue) {
  const std::vector<double> oracle = {1, -4, 0};
  EXPECT_THAT(Bounds(SingleRound(), oracle), ElementsAre(kUlp, 4 * kUlp, std::ldexp(1, -133)));
  const std::vector<double> got = {1 + 0.5 * kUlp, -4 - 4 * kUlp, 0};
  const BoundedComparison c = CompareWithin({3}, oracle, got, Bounds(SingleRound(), oracle));
  EXPECT_TRUE(c.passed());
  EXPECT_DOUBLE_EQ(c.used_share, 1);
  EXPECT_EQ(c.tightest, 1u);
  const std::vector<double> worse = {1 + 1.01 * kUlp, -4, 0};
  EXPECT_EQ(CompareWithin({3}, oracle, worse, Bounds(SingleRound(), oracle)).exceeding, 1u);
}

TEST(ToleranceTest, AccumulationGrowsWithLengthAndMagnitude) {
  // Cancellation: the value is tiny, its terms are not.
  const std::vector<double> oracle = {1e-6};
  const std::vector<double> magnitude = {100};
  const auto allowance = [&](std::uint64_t n) {
    return Bounds(SingleRound(n), oracle, magnitude)[0] - Bounds(SingleRound(), oracle)[0];
  };
  EXPECT_DOUBLE_EQ(allowance(1024), std::ldexp(10 * 100.0, -22));
  EXPECT_DOUBLE_EQ(allowance(4096) / allowance(64), 2);
  EXPECT_DOUBLE_EQ(allowance(1), std::ldexp(100.0, -22));
}

TEST(ToleranceTest, AttentionByTheTypeOfItsProbabilities) {
  const std::vector<double> oracle = {1};
  EXPECT_DOUBLE_EQ(Bounds(AttentionModel(ProbabilityType::kF32), oracle, {}, 8)[0],
                   kUlp + 8 * std::ldexp(1, -9));
  EXPECT_DOUBLE_EQ(Bounds(AttentionModel(ProbabilityType::kF16), oracle, {}, 8)[0],
                   kUlp + 8 * std::ldexp(1, -10));
  EXPECT_DOUBLE_EQ(Bounds(AttentionModel(ProbabilityType::kBf16), oracle, {}, 8)[0],
                   kUlp + 8 * std::ldexp(1, -7));
}

TEST(ToleranceTest, AlternateChains) {
  const std::vector<double> oracle = {1};
  EXPECT_DOUBLE_EQ(Bounds(AlternateRounding(2), oracle)[0], 2 * kUlp);
  const std::vector<double> hypot = {1.5};
  EXPECT_DOUBLE_EQ(Bounds(AlternateRounding(1, 3 * std::ldexp(1, -8)), oracle, hypot)[0],
                   kUlp + 4.5 * std::ldexp(1, -8));
}

TEST(ToleranceTest, NonfiniteOnOneSideFailsHoweverWideTheBound) {
  const std::vector<double> oracle = {1, std::nan(""), kInf};
  const std::vector<double> wide = {1e30, 1e30, 1e30};
  for (const double bad : {kInf, -kInf, std::nan("")}) {
    const std::vector<double> got = {bad, std::nan(""), kInf};
    const BoundedComparison c = CompareWithin({3}, oracle, got, wide);
    EXPECT_EQ(c.exceeding, 1u);
    EXPECT_EQ(c.used_share, kInf);
  }
  EXPECT_TRUE(CompareWithin({3}, oracle, oracle, wide).passed());
  // An infinite bound, as an infinite magnitude gives, allows no infinity.
  const std::vector<double> infinite = {kInf, kInf, kInf};
  const std::vector<double> got = {kInf, std::nan(""), kInf};
  EXPECT_EQ(CompareWithin({3}, oracle, got, infinite).exceeding, 1u);
}

TEST(ToleranceTest, Names) {
  EXPECT_EQ(ToleranceClassName(ToleranceClass::kExact), "T0");
  EXPECT_EQ(ToleranceClassName(ToleranceClass::kEndToEnd), "T4");
}

}  // namespace
}  // namespace draftmark
