// The charts that are drawn without JavaScript, as inline SVG. Colours are classes of page.css, so
// that light, dark and print each have their own; what a shape stands for is in its <title>, or,
// for sparklines, in the row that they stand in. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_CHARTS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_CHARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// The whole series in a line of some 60 steps, with the noise band of each segment behind it.
std::string Sparkline(const DashboardSeries& series);

// Achieved FLOPs per second over FLOPs per byte, both logarithmic, below the roofs of the testbed.
// Each series with bytes and FLOPs per second; empty if there is none, or no roof.
std::string RooflineChart(const DashboardData& data, std::size_t testbed);

// For each operation a line from 0 to 100 % of the floor, with a dot for each case.
std::string FloorShareChart(const DashboardData& data, std::size_t testbed);

// One bar of fields in shares of their sum, and below it the sum as a share of `largest`.
std::string StackedBar(const std::vector<const DashboardCount*>& fields, std::uint64_t largest);

// "rms_norm" of "op/rms_norm/rows=1", else the part before the first slash.
std::string OperationName(const std::string& case_id);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_CHARTS_H_
