// A small dashboard with one of everything, for tests: two testbeds, a step, a slower case, a grown
// field, a waiver, a failure, a cell that was never run.
//
//   const DashboardData data = SampleDashboard();
//   const DashboardData hostile = SampleDashboard(kHostile);   // in every field of text
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_SAMPLE_DASHBOARD_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_SAMPLE_DASHBOARD_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// What breaks out of a script, an attribute, a comment, a CDATA section, a template, a shell word,
// a CSV field and a line; a control character, an override of writing direction, letters and no
// UTF-8.
inline constexpr std::string_view kHostile =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)><!--]]>{{DATA}}$(id)`,\n"
    "\x01\xE2\x80\xAE\xC3\xA4\xE6\xBC\xA2\xFF&amp;";

// `spice` is put behind every text.
DashboardData SampleDashboard(std::string_view spice = "");

// Trends alone, as many as asked for on each testbed, of which some have steps. Without segments.
DashboardData LargeDashboard(std::size_t cases, std::size_t nights, std::size_t testbeds);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_SAMPLE_DASHBOARD_H_
