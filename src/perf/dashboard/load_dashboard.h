// A history (src/perf/history) as what the dashboard shows.
//
//   DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open("history.db"));
//   DM_ASSIGN_OR_RETURN(const DashboardData data,
//                       LoadDashboard(reader, {.source = "history.db", .now = now}));
//
// Environments that differ in driver or CUDA alone are one testbed, whose trends go on; of a case
// whose schema changed only the newest schema is shown, since it measures something else. A point
// is a night: the median of its valid runs. A night without a valid run has no point, and says why.
//
// An exact count is judged against the least value since the last `draftmark perf accept`, the
// accepted one included: what was better once must not get worse unnoticed.
//
// Trends are analysed (trend.h). Errors are those of history_reader.h. For one thread.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_LOAD_DASHBOARD_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_LOAD_DASHBOARD_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/perf/dashboard/dashboard_data.h"
#include "src/perf/history/history_reader.h"

namespace draftmark {

struct LoadOptions {
  std::string title = "Draftmark";
  std::string source = {};  // for the page's head
  std::int64_t now = 0;     // seconds since 1970
  // What conformance could have run: rows and columns of the matrix, beside those of the history.
  std::vector<std::string> operations = {};     // "op/rms_norm", "draft"
  std::vector<std::string> architectures = {};  // "sm_90"
  // What is known of fields of which the history has no run, by operation and architecture.
  std::map<std::pair<std::string, std::string>, std::string> known = {};
};

StatusOr<DashboardData> LoadDashboard(HistoryReader& reader, const LoadOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_LOAD_DASHBOARD_H_
