// Levels, change points and noise bands of every series of a dashboard.
//
//   AnalyseTrends(data);
//   data.series[0].segments;   // one more than it has change points
//
// A segment is what FindChangePoints (change_points.h) leaves together in the points over their
// nights' sentinels, as the nightly alarm looks at them, or as they were measured where a night has
// none: a drift of the whole machine is no change of a case. Its level is the median of its nights
// as they were measured. The band is what the nightly alarm calls noise: 4 x 1.4826 x MAD on both
// sides, MAD not below 0.2 % of the level (nightly_alarm.h). Series are analysed in parallel.
// Thread-safe for different data.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_TREND_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_TREND_H_

#include <vector>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// Values that are no time (not above 0, not finite) are dropped from the points first.
void AnalyseTrends(DashboardData& data);

// Empty where there are no points. Values above 0.
std::vector<TrendSegment> SegmentsOf(const std::vector<DashboardPoint>& points);

// The share by which the last change point moved the level; 0 where there is none.
double LastStep(const DashboardSeries& series);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_TREND_H_
