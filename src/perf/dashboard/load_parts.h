// The steps of LoadDashboard, in its order. Each reads one subject of the history into `data`.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_LOAD_PARTS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_LOAD_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "src/base/status.h"
#include "src/perf/dashboard/dashboard_data.h"
#include "src/perf/dashboard/load_dashboard.h"
#include "src/perf/history/history_reader.h"

namespace draftmark {

// What a step needs to know of the ones before it.
struct LoadState {
  HistoryReader& reader;
  const LoadOptions& options;
  DashboardData data = {};
  struct Bed {
    Environment environment;
    std::size_t testbed = 0;
  };
  std::map<EnvironmentId, Bed> beds = {};
  // Index of the run of an environment's night, after LoadRuns.
  std::map<std::pair<EnvironmentId, std::int32_t>, std::size_t> runs = {};
  // Of a night with runs of several commits, the run of each: a series may have been measured by
  // one of them alone.
  std::map<std::pair<EnvironmentId, std::int32_t>, std::map<std::string, std::size_t>> by_commit =
      {};
  // By sentinel (kCopyContext, kGemmContext), testbed and day what one byte or operation took.
  std::map<std::string, std::map<std::size_t, std::map<std::int32_t, double>>> sentinels = {};
};

Status LoadTestbeds(LoadState& state);
Status LoadRuns(LoadState& state);
Status LoadSentinels(LoadState& state);
Status LoadTrends(LoadState& state);
Status LoadVerdicts(LoadState& state);
Status LoadCounts(LoadState& state);
Status LoadConformance(LoadState& state);
Status LoadSuites(LoadState& state);
Status LoadAa(LoadState& state);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_LOAD_PARTS_H_
