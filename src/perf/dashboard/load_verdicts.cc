// Verdicts of the gate and of the nightly job, and what A/A runs say of them.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/perf/aa_quality.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/load_parts.h"

namespace draftmark {
namespace {

constexpr char kTimeMetric[] = "time";
constexpr std::int64_t kDaySeconds = 86400;

std::optional<Verdict> VerdictNamed(const std::string& name) {
  for (const Verdict verdict :
       {Verdict::kFaster, Verdict::kSame, Verdict::kSlower, Verdict::kUnclear, Verdict::kInvalid}) {
    if (VerdictName(verdict) == name) return verdict;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> CountOf(const std::optional<std::int64_t>& value) {
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

DashboardVerdict VerdictOf(const VerdictRow& row, const std::string& case_id, Verdict verdict,
                           const LoadState::Bed& bed) {
  const GateVerdict& judged = row.verdict;
  DashboardVerdict made{.case_id = case_id, .testbed = bed.testbed, .time = row.time};
  if (judged.metric != kTimeMetric) made.metric = judged.metric;
  made.verdict = verdict;
  made.reason = judged.reason;
  made.old_count = CountOf(judged.old_count);
  made.new_count = CountOf(judged.new_count);
  made.ratio = judged.ratio;
  if (judged.ci_low && judged.ci_high) made.shift = Interval{*judged.ci_low, *judged.ci_high};
  made.p = judged.p;
  made.detectable = judged.detectable;
  made.source = row.mode;
  if (judged.confirmed) made.source += *judged.confirmed ? ", confirmed" : ", not confirmed";
  if (row.advisory) made.source += ", advisory";
  made.base_commit = row.base_commit;
  made.commit = row.next_commit;
  made.driver = bed.environment.driver;
  made.clocks = bed.environment.clocks;
  made.reproduce = judged.reproduce;
  return made;
}

}  // namespace

Status LoadVerdicts(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<VerdictRow> rows, state.reader.NewestVerdicts());
  for (const VerdictRow& row : rows) {
    const std::optional<Verdict> verdict = VerdictNamed(row.verdict.verdict);
    if (!verdict) {
      return DataLossError("history: gate " + row.gate + ": expected a verdict, found " +
                           row.verdict.verdict);
    }
    state.data.verdicts.push_back(
        VerdictOf(row, row.verdict.case_id, *verdict, state.beds.at(row.environment)));
  }
  std::stable_sort(state.data.verdicts.begin(), state.data.verdicts.end(),
                   [](const DashboardVerdict& a, const DashboardVerdict& b) {
                     if (a.time != b.time) return a.time > b.time;
                     return Severity(a.verdict) > Severity(b.verdict);
                   });
  return OkStatus();
}

namespace {

// By architecture and the last kAaDays days, as the gate itself decides (aa_history.h).
StatusOr<std::map<std::string, AaCounts>> NewestAaOfArchitectures(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<AaRow> rows,
                      state.reader.AaQuality(state.options.now - (kAaDays - 1) * kDaySeconds));
  std::map<std::string, AaCounts> counts;
  for (const AaRow& row : rows) {
    AaCounts& one = counts[state.beds.at(row.environment).environment.architecture];
    one.comparisons += row.comparisons;
    one.alarms += row.false_alarms;
  }
  return counts;
}

}  // namespace

Status LoadAa(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<AaRow> rows, state.reader.AaQuality());
  std::map<std::size_t, AaQuality> found;
  for (const AaRow& row : rows) {
    const std::size_t testbed = state.beds.at(row.environment).testbed;
    AaQuality& quality = found[testbed];
    quality.testbed = testbed;
    quality.comparisons += static_cast<std::size_t>(row.comparisons);
    quality.false_alarms += static_cast<std::size_t>(row.false_alarms);
    quality.cases.push_back({row.case_id, static_cast<std::size_t>(row.comparisons),
                             static_cast<std::size_t>(row.false_alarms), row.spread,
                             row.detectable});
  }
  DM_ASSIGN_OR_RETURN(auto newest, NewestAaOfArchitectures(state));
  for (auto& [testbed, quality] : found) {
    quality.advisory = IsNoisy(newest[state.data.testbeds[testbed].architecture]);
    // What can show nothing at all stands first, then the largest shift.
    std::stable_sort(quality.cases.begin(), quality.cases.end(),
                     [](const AaQuality::Case& a, const AaQuality::Case& b) {
                       const auto size = [](const AaQuality::Case& one) {
                         return one.detectable > 0 ? one.detectable : 1e9;
                       };
                       return size(a) > size(b);
                     });
    state.data.aa.push_back(std::move(quality));
  }
  return OkStatus();
}

}  // namespace draftmark
