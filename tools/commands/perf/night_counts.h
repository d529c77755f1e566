// Exact counts of a night (launches, allocations, bytes) against those of the night before it.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<NightCount> counts,
//                       CompareNightCounts(reader, nights, night, recorded));
//   for (const NightCount& count : counts) {
//     if (count.change == CountChangeKind::kLarger) failed = true;
//   }
//
// The night before is the last one in which the series was counted, and of several runs the largest
// value counts. What is recorded on purpose (src/perf/recorded_counts.h) is no increase. Source of
// the rule: statistics page, "Memory, allocations, launches, bytes".
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHT_COUNTS_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHT_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/recorded_counts.h"
#include "tools/commands/perf/night_runs.h"

namespace draftmark {

enum class CountChangeKind {
  kSame,
  kLarger,   // fails
  kSmaller,  // fails nothing
  kMissing,  // the night before had it, and this one has the case without it: unclear
};

struct NightCount {
  CaseKey key = {};
  std::string counter = {};
  CountChangeKind change = CountChangeKind::kSame;
  std::int64_t before = 0, found = 0;
  std::string night = {};  // of `before`

  // "LARGER draft/a: launches: expected 24 as in night 2026-12-11, found 25 (+1)"; empty for kSame.
  std::string ToString() const;
};

// In the order of cases and counters: all that both nights have, and what is missing.
StatusOr<std::vector<NightCount>> CompareNightCounts(HistoryReader& reader,
                                                     const EnvironmentNights& nights, Day night,
                                                     const RecordedCounts& recorded);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHT_COUNTS_H_
