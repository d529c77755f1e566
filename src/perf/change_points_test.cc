#include "src/perf/change_points.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/counter_hash.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::size_t> FirstsOf(const std::vector<double>& values, double penalty = 3) {
  std::vector<std::size_t> firsts;
  for (const LevelChange& change : FindChangePoints(values, penalty)) {
    firsts.push_back(change.first);
  }
  return firsts;
}

// `nights` values about `level` that repeat within +- 0.2 %.
void Append(std::vector<double>& values, std::size_t nights, double level) {
  for (std::size_t i = 0; i < nights; ++i) {
    values.push_back(level * (1 + 0.002 * (2 * UniformAt(3, values.size()) - 1)));
  }
}

TEST(ChangePointsTest, OneStep) {
  std::vector<double> values;
  Append(values, 20, 100);
  Append(values, 10, 103);
  const std::vector<LevelChange> changes = FindChangePoints(values);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].first, 20u);
  EXPECT_NEAR(changes[0].before, 100, 0.1);
  EXPECT_NEAR(changes[0].after, 103, 0.1);
  EXPECT_NEAR(changes[0].step, 0.03, 0.002);
}

TEST(ChangePointsTest, UpAndDown) {
  std::vector<double> values;
  Append(values, 15, 1e-6);
  Append(values, 9, 1.05e-6);
  Append(values, 12, 1e-6);
  EXPECT_THAT(FirstsOf(values), ElementsAre(15, 24));
}

// A single night is never the median of a segment. Two are that of the three that hold them.
TEST(ChangePointsTest, ASpikeOfOneNightIsNoSegment) {
  const auto spike_of = [](std::size_t nights) {
    std::vector<double> values;
    Append(values, 15, 100);
    Append(values, nights, 120);
    Append(values, 15, 100);
    return FirstsOf(values);
  };
  EXPECT_THAT(spike_of(1), IsEmpty());
  EXPECT_THAT(spike_of(2), AnyOf(ElementsAre(14, 17), ElementsAre(15, 18)));
  EXPECT_THAT(spike_of(3), ElementsAre(15, 18));
}

TEST(ChangePointsTest, TheShortestSeries) {
  EXPECT_THAT(FirstsOf({}), IsEmpty());
  EXPECT_THAT(FirstsOf({1, 1, 2, 2, 2}), IsEmpty());
  EXPECT_THAT(FirstsOf({1, 1, 1, 2, 2, 2}), ElementsAre(3));
}

TEST(ChangePointsTest, ConstantNightsAndTheSmallestStep) {
  std::vector<double> values(12, 1000);
  EXPECT_THAT(FirstsOf(values), IsEmpty());
  values.insert(values.end(), 12, 1009.9);
  EXPECT_THAT(FirstsOf(values), IsEmpty());
  std::fill(values.begin() + 12, values.end(), 1010.1);
  EXPECT_THAT(FirstsOf(values), ElementsAre(12));
  std::fill(values.begin() + 12, values.end(), 989.9);
  EXPECT_THAT(FirstsOf(values), ElementsAre(12));
}

// Three steps of 0.7 % each: none counts alone, but the sum does.
TEST(ChangePointsTest, ACreepIsTold) {
  std::vector<double> values;
  for (const double level : {1000.0, 1007.0, 1014.0, 1021.0}) {
    values.insert(values.end(), 10, level);
  }
  const std::vector<LevelChange> changes = FindChangePoints(values);
  ASSERT_FALSE(changes.empty());
  for (const LevelChange& change : changes) EXPECT_GE(change.step, kSmallestStep);
}

TEST(ChangePointsTest, SpreadsOfKnownValues) {
  const std::vector<double> values = {1, 2, 4, 8, 100};
  EXPECT_EQ(MedianAbsoluteDeviation(values), 3);  // |1-4|, 2, 0, 4, 96
  // Differences 1, 2, 4, 92: median 3, deviations 2, 1, 1, 89, median 1.5.
  EXPECT_NEAR(SigmaOfDifferences(values), 1.4826 * 1.5 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(SigmaOfDifferences(std::vector<double>{5}), 0);
}

// Every way to cut a short series, one by one: what the segments and cuts cost.
double CostOfCuts(const std::vector<double>& values, unsigned cuts, double gamma) {
  double cost = 0;
  std::vector<double> segment;
  for (std::size_t i = 0; i < values.size(); ++i) {
    segment.push_back(values[i]);
    if (i + 1 < values.size() && (cuts >> i & 1u) == 0) continue;
    if (segment.size() < kShortestSegment) return std::numeric_limits<double>::infinity();
    const double middle = Median(segment);
    for (const double value : segment) cost += std::abs(value - middle);
    cost += gamma;
    segment.clear();
  }
  return cost;
}

TEST(ChangePointsTest, IsTheBestOfAllCuts) {
  std::size_t with_cuts = 0;
  for (std::uint64_t series = 0; series < 60; ++series) {
    std::vector<double> values;
    for (std::size_t i = 0; i < 13; ++i) {
      // Levels so far apart that no step is below kSmallestStep.
      const double level = 100 + 20 * static_cast<double>(BitsAt(series, 100 + i / 4) % 3);
      values.push_back(level + 8 * UniformAt(series, i));
    }
    const double gamma = 3 * SigmaOfDifferences(values) * std::log(13.0);
    double best = std::numeric_limits<double>::infinity();
    for (unsigned cuts = 0; cuts < 1u << 12; ++cuts) {
      best = std::min(best, CostOfCuts(values, cuts, gamma));
    }
    unsigned found = 0;
    for (const std::size_t first : FirstsOf(values)) found |= 1u << (first - 1);
    EXPECT_NEAR(CostOfCuts(values, found, gamma), best, 1e-9) << series;
    with_cuts += found != 0;
  }
  EXPECT_GT(with_cuts, 5u);
  EXPECT_LT(with_cuts, 60u);
}

}  // namespace
}  // namespace draftmark
