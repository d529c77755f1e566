#include "src/perf/dashboard/trend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "src/base/parallel.h"
#include "src/perf/change_points.h"
#include "src/perf/nightly_alarm.h"
#include "src/perf/run_value.h"

namespace draftmark {

std::vector<TrendSegment> SegmentsOf(const std::vector<DashboardPoint>& points) {
  if (points.empty()) return {};
  std::vector<double> values, steady;
  for (const DashboardPoint& point : points) {
    values.push_back(point.value);
    steady.push_back(point.steady > 0 ? point.steady : point.value);
  }
  std::vector<std::size_t> firsts = {0};
  for (const auto& change : FindChangePoints(steady)) firsts.push_back(change.first);
  std::vector<TrendSegment> segments;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const std::size_t end = i + 1 < firsts.size() ? firsts[i + 1] : values.size();
    const std::span<const double> nights(values.data() + firsts[i], end - firsts[i]);
    const double level = Median({nights.begin(), nights.end()});
    const double mad = std::max(MedianAbsoluteDeviation(nights), kLeastNightMad * level);
    const double width = kNightSpreads * kSigmaPerMad * mad;
    segments.push_back(
        {.first = firsts[i], .level = level, .low = level - width, .high = level + width});
  }
  return segments;
}

void AnalyseTrends(DashboardData& data) {
  ParallelFor(data.series.size(), /*grain=*/1,
              [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t at = begin; at < end; ++at) {
                  DashboardSeries& series = data.series[at];
                  std::erase_if(series.points, [](const DashboardPoint& point) {
                    return !std::isfinite(point.value) || point.value <= 0;
                  });
                  series.segments = SegmentsOf(series.points);
                }
              });
}

double LastStep(const DashboardSeries& series) {
  const std::size_t count = series.segments.size();
  if (count < 2) return 0;
  return series.segments[count - 1].level / series.segments[count - 2].level - 1;
}

}  // namespace draftmark
