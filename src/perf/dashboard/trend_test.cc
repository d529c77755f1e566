#include "src/perf/dashboard/trend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/perf/dashboard/sample_dashboard.h"

namespace draftmark {
namespace {

TEST(TrendTest, AStepMakesTwoSegmentsAtItsNight) {
  DashboardData data = SampleDashboard();
  AnalyseTrends(data);
  const DashboardSeries& stepped = data.series[0];
  ASSERT_EQ(stepped.segments.size(), 2u);
  EXPECT_EQ(stepped.segments[0].first, 0u);
  EXPECT_EQ(stepped.segments[1].first, 25u);  // SampleDashboard's kStepNight
  EXPECT_NEAR(stepped.segments[0].level, 2.4e-6, 2.4e-6 * 0.002);
  EXPECT_NEAR(LastStep(stepped), 0.03, 0.003);
  EXPECT_EQ(data.series[1].segments.size(), 1u);
  EXPECT_EQ(LastStep(data.series[1]), 0);
}

// 4 x 1.4826 x MAD; here MAD is 1.
TEST(TrendTest, BandOfNoise) {
  std::vector<DashboardPoint> points;
  for (std::size_t i = 0; i < 9; ++i) points.push_back({i, 100.0 + (i % 3) - 1.0});
  const std::vector<TrendSegment> segments = SegmentsOf(points);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_DOUBLE_EQ(segments[0].level, 100);
  EXPECT_NEAR(segments[0].high, 100 + 4 * 1.4826, 1e-9);
  EXPECT_NEAR(segments[0].low, 100 - 4 * 1.4826, 1e-9);
}

// MAD is taken for 0.2 % of the level at least: nights that are equal by chance are no promise.
TEST(TrendTest, BandIsNeverThinnerThanItsFloor) {
  const std::vector<TrendSegment> segments = SegmentsOf({{0, 10}, {1, 10}, {2, 10}});
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_NEAR(segments[0].high, 10 * (1 + 4 * 1.4826 * 0.002), 1e-9);
}

TEST(TrendTest, PointsThatAreNoTimesAreDropped) {
  DashboardData data = SampleDashboard();
  data.series[1].points[3].value = -1;
  data.series[1].points[4].value = std::nan("");
  const std::size_t count = data.series[1].points.size();
  AnalyseTrends(data);
  EXPECT_EQ(data.series[1].points.size(), count - 2);
  data.series[2].points.clear();
  AnalyseTrends(data);
  EXPECT_TRUE(data.series[2].segments.empty());
}

}  // namespace
}  // namespace draftmark
