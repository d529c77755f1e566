#include "src/perf/nightly.h"

#include <fmt/format.h>

#include "src/perf/change_points.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

double MedianOf(const Sentinel& sentinel) {
  std::vector<double> values;
  for (const auto& [day, value] : sentinel) values.push_back(value);
  return values.empty() ? 1 : Median(std::move(values));
}

}  // namespace

NightlyCase JudgeCaseNight(const CaseNights& before, const Sentinel& sentinel,
                           const Tonight& tonight, double floor) {
  NightlyCase judged{.case_id = before.case_id,
                     .schema = before.schema,
                     .scale = MedianOf(sentinel),
                     .over_sentinel = !sentinel.empty()};
  if (tonight.runs.size() < kFewestNightRuns) {
    judged.verdict = Verdict::kInvalid;
    judged.reason =
        fmt::format("{} runs can be used, at least {} are needed{}{}", tonight.runs.size(),
                    kFewestNightRuns, tonight.failure.empty() ? "" : ": ", tonight.failure);
    return judged;
  }
  const auto level = [&](Day day, double value) -> std::optional<double> {
    if (sentinel.empty()) return value;
    const auto at = sentinel.find(day);
    if (at == sentinel.end()) return std::nullopt;
    return value * judged.scale / at->second;
  };
  std::vector<Day> days;
  std::vector<double> values;
  for (const auto& [day, value] : before.nights) {
    if (day >= tonight.day) break;
    if (const std::optional<double> one = level(day, value)) {
      days.push_back(day);
      values.push_back(*one);
    }
  }
  const std::optional<double> now = level(tonight.day, Median(tonight.runs));
  if (!now) {
    judged.verdict = Verdict::kInvalid;
    judged.reason = "the sentinel was not measured tonight";
    return judged;
  }
  judged.seconds = *now;
  judged.judged = JudgeNight(values, *now, floor);
  judged.verdict = judged.judged.verdict;
  judged.reason = judged.judged.reason;
  if (!tonight.failure.empty()) {
    judged.reason += fmt::format("{}without a run of tonight: {}",
                                 judged.reason.empty() ? "" : "; ", tonight.failure);
  }
  judged.no_baseline = judged.judged.nights < kFewestNights;
  days.push_back(tonight.day);
  values.push_back(*now);
  for (const LevelChange& change : FindChangePoints(values)) {
    judged.changes.push_back({.day = days[change.first],
                              .before = change.before,
                              .after = change.after,
                              .step = change.step});
  }
  return judged;
}

void ConfirmCaseNight(const std::vector<double>& fresh, double sentinel, NightlyCase& judged) {
  if (judged.verdict != Verdict::kSlower) return;
  judged.verdict = Verdict::kUnclear;
  if (fresh.size() < kFewestNightRuns) {
    judged.reason = fmt::format("slower, but of the fresh runs only {} can be used", fresh.size());
    return;
  }
  if (judged.over_sentinel && !(sentinel > 0)) {
    judged.reason = "slower, but the sentinel was not measured in the fresh runs";
    return;
  }
  const double seconds = Median(fresh) * (judged.over_sentinel ? judged.scale / sentinel : 1);
  judged.again = seconds / judged.judged.baseline;
  if (*judged.again > 1 + judged.judged.threshold) {
    judged.verdict = Verdict::kSlower;
  } else {
    judged.reason = fmt::format("slower, which {} fresh runs do not confirm", fresh.size());
  }
}

}  // namespace draftmark
