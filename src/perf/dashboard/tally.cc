#include "src/perf/dashboard/tally.h"

#include <set>
#include <string_view>
#include <tuple>

namespace draftmark {

Tally TallyOf(const DashboardData& data) {
  Tally tally;
  for (const DashboardSeries& series : data.series) tally.points += series.points.size();
  for (const std::size_t i : NewestVerdicts(data)) {
    ++tally.verdicts;
    if (data.verdicts[i].verdict == Verdict::kSlower) ++tally.slower;
  }
  for (const DashboardCount& count : data.counts) tally.grown += HasGrown(count) ? 1 : 0;
  for (const MatrixCell& cell : data.conformance) {
    if (cell.state == CellState::kFailed) ++tally.failed;
  }
  for (const DashboardSuite& suite : data.suites) tally.suites_failed += suite.failed ? 1 : 0;
  return tally;
}

bool HasGrown(const DashboardCount& count) {
  return count.recorded && count.value > *count.recorded;
}

std::vector<std::size_t> NewestVerdicts(const DashboardData& data) {
  std::set<std::tuple<std::size_t, std::string_view, std::string_view>> seen;
  std::vector<std::size_t> newest;
  for (std::size_t i = 0; i < data.verdicts.size(); ++i) {
    const DashboardVerdict& verdict = data.verdicts[i];
    if (seen.emplace(verdict.testbed, verdict.case_id, verdict.metric).second) newest.push_back(i);
  }
  return newest;
}

}  // namespace draftmark
