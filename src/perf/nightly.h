// A night of one case against the nights before it: the alarm and the change points.
//
//   CaseNights nights{.case_id = id, .nights = {{20000, 1.02e-3}, ...}};   // by day, ascending
//   const NightlyCase judged = JudgeCaseNight(nights, sentinel, {.day = 20040, .runs = {...}});
//   judged.verdict;   // of the night; slower is not yet confirmed
//   ConfirmCaseNight(fresh, fresh_sentinel, judged);
//
// Values are seconds; each is divided by the sentinel of its own night and multiplied by the median
// of all nights' sentinels, so that it stays a time. A night of which the sentinel is not known is
// left out. Rules: nightly_alarm.h, change_points.h. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_NIGHTLY_H_
#define DRAFTMARK_SRC_PERF_NIGHTLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/perf/nightly_alarm.h"
#include "src/perf/verdict.h"

namespace draftmark {

using Day = std::int32_t;  // since 1970

// Of a night's runs fewer cannot tell a level from an outlier.
inline constexpr std::size_t kFewestNightRuns = 3;

// What cancels a drift, by night; empty: nothing does.
using Sentinel = std::map<Day, double>;

struct CaseNights {
  std::string case_id = {};
  std::int64_t schema = 1;
  std::map<Day, double> nights = {};  // before tonight
};

struct Tonight {
  Day day = 0;
  std::vector<double> runs = {};  // the values of those that can be used
  std::string failure = {};       // of one that cannot; empty: all can
};

struct LevelChangeAt {
  Day day = 0;  // the first night of the new level
  double before = 0, after = 0, step = 0;
};

struct NightlyCase {
  std::string case_id = {};
  std::int64_t schema = 1;
  Verdict verdict = Verdict::kUnclear;
  std::string reason = {};
  bool no_baseline = false;  // too few nights; the verdict says nothing then
  double seconds = 0;        // of tonight, over the sentinel
  NightJudgement judged = {};
  std::optional<double> again = std::nullopt;  // ratio of the fresh runs to the baseline
  std::vector<LevelChangeAt> changes = {};     // of all nights, tonight's included
  double scale = 1;                            // seconds of a value over tonight's sentinel
  bool over_sentinel = false;                  // `seconds` is
  std::string sentinel = "none";               // what that is, for reports: copy, gemm
};

NightlyCase JudgeCaseNight(const CaseNights& before, const Sentinel& sentinel,
                           const Tonight& tonight, double floor = kNightFloor);

// Fresh runs of the same night, where the verdict was slower: it stays if they are as slow, else it
// is unclear. `sentinel` is theirs, 0 where there is none: where the night has one, fresh runs
// without it confirm nothing, since the drift that it cancels is still in them.
void ConfirmCaseNight(const std::vector<double>& fresh, double sentinel, NightlyCase& judged);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_NIGHTLY_H_
