#include "tools/commands/perf/night_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "src/base/ascii.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/history/utc_time.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

// The alarm looks at 30 nights; change points are also told of before, without a sentinel there.
constexpr Day kSentinelDays = 120;

// Of a rate in the run's context, what one of its units takes; 0 where it is not told.
double SecondsOf(const RunRecord& run, std::string_view rate) {
  for (const auto& [name, value] : run.context) {
    if (name != rate) continue;
    const double per_second = LeadingNumber(value);
    return per_second > 0 ? 1 / per_second : 0;
  }
  return 0;
}

std::string ProblemOf(const RunRecord& run, const Point& point) {
  if (!run.valid) return run.reason.empty() ? "the run is no evidence" : run.reason;
  if (!point.failure.empty()) return point.failure;
  if (static_cast<double>(point.voided) >
      kMostVoided * static_cast<double>(point.samples + point.voided)) {
    return fmt::format("{} samples are void{}{}", point.voided, point.marks.empty() ? "" : ": ",
                       point.marks);
  }
  return "";
}

}  // namespace

void NightRuns::Add(const RunRecord& run) {
  for (const Point& point : run.points) {
    const std::string problem = ProblemOf(run, point);
    const CaseKey key = {point.case_id, point.schema};
    // Counts are exact, however noisy the run was.
    for (const auto& [counter, count] : point.counts) {
      std::int64_t& most = counts_[key].try_emplace(counter, count).first->second;
      most = std::max(most, count);
    }
    if (problem.empty() && !point.seconds) continue;  // counts only
    Tonight& tonight = cases_[key];
    if (point.bytes_per_second && point.flops_per_second) {
      rates_[key] = {*point.bytes_per_second, *point.flops_per_second};
    }
    if (problem.empty()) {
      tonight.runs.push_back(*point.seconds);
    } else if (tonight.failure.empty()) {
      tonight.failure = problem;
    }
  }
  if (const double copy = SecondsOf(run, kCopyContext); copy > 0 && run.valid) {
    copies_.push_back(copy);
  }
  if (const double gemm = SecondsOf(run, kGemmContext); gemm > 0 && run.valid) {
    gemms_.push_back(gemm);
  }
  if (run.time >= newest_) {
    newest_ = run.time;
    commit_ = run.commit;
  }
}

double NightRuns::copy() const { return copies_.empty() ? 0 : Median(copies_); }
double NightRuns::gemm() const { return gemms_.empty() ? 0 : Median(gemms_); }

bool NightRuns::IsArithmetic(const CaseKey& key) const {
  const auto rates = rates_.find(key);
  return rates != rates_.end() && rates->second.second * gemm() > rates->second.first * copy();
}

std::string EnvironmentNights::SentinelOf(const CaseKey& key) const {
  if (copy.empty()) return gemm.empty() || !tonight.IsArithmetic(key) ? "none" : "gemm";
  if (gemm.empty() || !tonight.IsArithmetic(key)) return "copy";
  // A product that is measured since a few nights only would leave the case without a baseline.
  const auto at = before.find(key);
  std::size_t by_copy = 0, by_gemm = 0;
  if (at != before.end()) {
    for (const auto& [day, seconds] : at->second.nights) {
      by_copy += copy.contains(day);
      by_gemm += gemm.contains(day);
    }
  }
  return by_gemm >= std::min(by_copy, kFewestNights) ? "gemm" : "copy";
}

std::vector<CaseKey> EnvironmentNights::GoneIn(Day night) const {
  std::set<Day> days;
  for (const auto& [key, nights] : before) {
    for (const auto& [day, seconds] : nights.nights) {
      if (day < night) days.insert(day);
    }
  }
  std::vector<CaseKey> gone;
  if (days.size() < kSteadyNights) return gone;
  const std::set<Day> last(std::prev(days.end(), kSteadyNights), days.end());
  for (const auto& [key, nights] : before) {
    // With an initialiser, as clang 14 captures no structured binding.
    const bool steady = std::all_of(
        last.begin(), last.end(), [&seen = nights.nights](Day day) { return seen.contains(day); });
    if (steady && !tonight.cases().contains(key)) gone.push_back(key);
  }
  return gone;
}

StatusOr<Day> NewestNight(HistoryReader& reader, const std::string& architecture) {
  DM_ASSIGN_OR_RETURN(const std::vector<NightRow> rows,
                      reader.NightRuns({.architecture = architecture}));
  Day newest = 0;
  for (const NightRow& row : rows) {
    if (!row.runs.empty()) newest = std::max(newest, row.day);
  }
  if (newest == 0) return NotFoundError("the history has no runs");
  return newest;
}

StatusOr<std::vector<EnvironmentNights>> ReadNights(HistoryReader& reader,
                                                    const std::string& architecture, Day night,
                                                    bool with_sentinel) {
  DM_ASSIGN_OR_RETURN(const std::vector<EnvironmentRow> environments, reader.Environments());
  std::vector<EnvironmentNights> all;
  for (const EnvironmentRow& row : environments) {
    if (!architecture.empty() && row.environment.architecture != architecture) continue;
    EnvironmentNights nights{.id = row.id, .environment = row.environment};
    DM_ASSIGN_OR_RETURN(const std::vector<NightRow> night_rows,
                        reader.NightRuns({.environment = row.id}));
    for (const NightRow& one : night_rows) {
      if (one.day > night ||
          (one.day < night && (!with_sentinel || one.day < night - kSentinelDays))) {
        continue;
      }
      NightRuns runs;
      for (const std::string& id : one.runs) {
        DM_ASSIGN_OR_RETURN(const RunRecord run, reader.Run(id));
        runs.Add(run);
        if (one.day == night && !run.points.empty()) nights.run_ids.push_back(id);
      }
      if (with_sentinel && runs.copy() > 0) nights.copy[one.day] = runs.copy();
      if (with_sentinel && runs.gemm() > 0) nights.gemm[one.day] = runs.gemm();
      if (one.day == night) nights.tonight = std::move(runs);
    }
    if (nights.tonight.cases().empty()) continue;
    if (!nights.copy.contains(night)) nights.copy.clear();
    if (!nights.gemm.contains(night)) nights.gemm.clear();
    DM_ASSIGN_OR_RETURN(const std::vector<NightSeries> series,
                        reader.Nights({.environment = row.id}));
    DM_ASSIGN_OR_RETURN(const std::vector<SeriesRow> rows, reader.Series({.environment = row.id}));
    for (const SeriesRow& one : rows) nights.series[{one.case_id, one.schema}] = one.id;
    for (const NightSeries& one : series) {
      const CaseKey key = {one.series.case_id, one.series.schema};
      CaseNights& before = nights.before[key];
      before = {.case_id = key.first, .schema = key.second, .nights = {}};
      nights.units[key] = one.unit;
      for (const auto& value : one.nights) {
        if (value.day < night && value.seconds > 0) before.nights[value.day] = value.seconds;
      }
    }
    all.push_back(std::move(nights));
  }
  if (all.empty()) {
    return NotFoundError(fmt::format("the history has no times of night {}", NightOfDay(night)));
  }
  return all;
}

}  // namespace draftmark
