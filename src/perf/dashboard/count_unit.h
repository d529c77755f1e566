// Which exact counts are bytes. Pure.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_COUNT_UNIT_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_COUNT_UNIT_H_

#include <string_view>

#include "src/perf/benchmark_counters.h"

namespace draftmark {

// True but for numbers of launches and allocations (benchmark_counters.h,
// conformance/counts/scratch_counts.h).
inline bool CountsBytes(std::string_view field) {
  return field != kLaunchesCounter && field != kAllocationsCounter && field != "ledger.allocations";
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_COUNT_UNIT_H_
