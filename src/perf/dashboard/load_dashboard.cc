#include "src/perf/dashboard/load_dashboard.h"

#include <algorithm>
#include <utility>

#include "src/perf/dashboard/load_parts.h"
#include "src/perf/dashboard/trend.h"

namespace draftmark {

StatusOr<DashboardData> LoadDashboard(HistoryReader& reader, const LoadOptions& options) {
  LoadState state{.reader = reader, .options = options};
  state.data.title = options.title;
  state.data.source = options.source;
  state.data.now = options.now;
  DM_RETURN_IF_ERROR(LoadTestbeds(state));
  DM_RETURN_IF_ERROR(LoadRuns(state));
  DM_RETURN_IF_ERROR(LoadSentinels(state));
  DM_RETURN_IF_ERROR(LoadTrends(state));
  DM_RETURN_IF_ERROR(LoadVerdicts(state));
  DM_RETURN_IF_ERROR(LoadCounts(state));
  DM_RETURN_IF_ERROR(LoadConformance(state));
  DM_RETURN_IF_ERROR(LoadSuites(state));
  DM_RETURN_IF_ERROR(LoadAa(state));
  DM_ASSIGN_OR_RETURN(const std::vector<ReleaseRecord> releases, reader.Releases());
  for (const ReleaseRecord& release : releases) {
    state.data.releases.push_back({release.time, release.name, release.commit});
  }
  AnalyseTrends(state.data);
  return std::move(state.data);
}

}  // namespace draftmark
