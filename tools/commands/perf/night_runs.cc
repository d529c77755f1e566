#include "tools/commands/perf/night_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "src/perf/benchmark_counters.h"
#include "src/perf/history/utc_time.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

constexpr const char* kCopyBandwidth = "copy_bytes_per_second";  // benchmarks/benchmark_context.h
// The alarm looks at 30 nights; change points are also told of before, without a sentinel there.
constexpr Day kSentinelDays = 120;

double CopySecondsOf(const RunRecord& run) {
  for (const auto& [name, value] : run.context) {
    if (name != kCopyBandwidth) continue;
    const double bandwidth = std::strtod(value.c_str(), nullptr);
    return bandwidth > 0 ? 1 / bandwidth : 0;
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
    if (problem.empty() && !point.seconds) continue;  // counts only
    Tonight& tonight = cases_[{point.case_id, point.schema}];
    if (problem.empty()) {
      tonight.runs.push_back(*point.seconds);
    } else if (tonight.failure.empty()) {
      tonight.failure = problem;
    }
  }
  if (const double copy = CopySecondsOf(run); copy > 0 && run.valid) copies_.push_back(copy);
  if (run.time >= newest_) {
    newest_ = run.time;
    commit_ = run.commit;
  }
}

double NightRuns::sentinel() const { return copies_.empty() ? 0 : Median(copies_); }

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
    EnvironmentNights nights{.environment = row.environment};
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
      if (with_sentinel && runs.sentinel() > 0) nights.sentinel[one.day] = runs.sentinel();
      if (one.day == night) nights.tonight = std::move(runs);
    }
    if (nights.tonight.cases().empty()) continue;
    if (!nights.sentinel.contains(night)) nights.sentinel.clear();
    DM_ASSIGN_OR_RETURN(const std::vector<NightSeries> series,
                        reader.Nights({.environment = row.id}));
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
