// How many of what a dashboard shows: what its newest state comes to in numbers. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_TALLY_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_TALLY_H_

#include <cstddef>
#include <vector>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

struct Tally {
  std::size_t points = 0;
  std::size_t verdicts = 0;  // the newest ones
  std::size_t slower = 0;    // of them
  std::size_t grown = 0;     // exact counts
  std::size_t failed = 0;    // fields of the conformance matrix
  std::size_t suites_failed = 0;
};
Tally TallyOf(const DashboardData& data);

bool HasGrown(const DashboardCount& count);

// Indices into data.verdicts: of each case and metric of each testbed the newest, in the order of
// verdicts.
std::vector<std::size_t> NewestVerdicts(const DashboardData& data);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_TALLY_H_
