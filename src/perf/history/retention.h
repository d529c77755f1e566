// Keeps a history small: the runs of old nights become one night record per environment.
//
//   DM_ASSIGN_OR_RETURN(const RetentionPlan plan, PlanRetention(history, {.nights = 60}));
//   // show the plan; nothing has changed yet
//   DM_ASSIGN_OR_RETURN(const RetentionReport done, ApplyRetention(history, plan, ""));
//
// What stays of a night: of each series the median, least and largest value of its valid runs, how
// many they were, and the exact counts of its last run (NightRecord), so trends and baselines go
// on. What goes: the single runs, with their medians, marks and other numbers, and their JSONL
// files, which are deleted or moved into a folder. Runs that checked something (conformance,
// suites), all verdicts, A/A results, accepted changes and releases stay for ever.
//
// The night record is written before anything goes, and lists the runs that it stands for: these
// are not taken in again by a rebuild or a merge. Killed half-way, the next call goes on.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RETENTION_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RETENTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/perf/history/history.h"
#include "src/perf/history/record.h"

namespace draftmark {

struct RetentionRule {
  std::int64_t nights = 0;     // the newest ones of each environment keep their runs; 0: no rule
  std::string first_day = {};  // nights from this one on keep their runs; empty: no rule
};

struct RetainedNight {
  Environment environment;
  std::string night;
  std::vector<std::string> runs;  // ids that go, by time
  std::int64_t points = 0;        // that go with them
};

struct RetentionPlan {
  std::vector<RetainedNight> nights;   // by environment and night
  std::vector<std::string> leftovers;  // files of runs that are replaced already
};

// Both rules must let a night go. INVALID_ARGUMENT: no rule, or a day that is none.
StatusOr<RetentionPlan> PlanRetention(History& history, const RetentionRule& rule);

struct RetentionReport {
  std::vector<std::string> written;  // ids of night records
  std::vector<std::string> dropped;  // names of files that are gone from the folder
};

// `archive`: the folder that files are moved to, made if need be; empty: they are deleted.
// INVALID_ARGUMENT: that is the folder of the history's records itself.
StatusOr<RetentionReport> ApplyRetention(History& history, const RetentionPlan& plan,
                                         const std::string& archive);

// The night record of some runs of one environment and night; at least one.
NightRecord SummarizeNight(const std::vector<RunRecord>& runs, const std::vector<std::string>& ids);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RETENTION_H_
