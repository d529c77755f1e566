// The sections of the page, as HTML that is whole without JavaScript. page.h puts them together.
// Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_SECTIONS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_SECTIONS_H_

#include <string>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// Is anything worse? One card per testbed, and one each for exact counts and conformance.
std::string SummarySection(const DashboardData& data);
// The newest verdict of each case, newest first, of one time the worst first.
std::string VerdictsSection(const DashboardData& data);
// Every case: newest value, share of the floor, last step, verdict, sparkline.
std::string CasesSection(const DashboardData& data);
std::string RooflineSection(const DashboardData& data);
// Scratch memory as stacked bars, then the other exact counts.
std::string CountsSection(const DashboardData& data);
std::string ConformanceSection(const DashboardData& data);
std::string AaSection(const DashboardData& data);
// Commit, driver, CUDA, clocks and reproduction line of every run.
std::string RunsSection(const DashboardData& data);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_SECTIONS_H_
