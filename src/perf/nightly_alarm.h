// Is tonight slower than the last nights were?
//
//   const NightJudgement first = JudgeNight(last_nights, tonight);
//   if (first.verdict == Verdict::kSlower) {
//     // run it again the same night; only if that says so too it is an alarm
//     const NightJudgement again = JudgeNight(last_nights, LevelOfNight(...fresh runs...));
//   }
//
// A night's value is the median of its runs' values (run_value.h) over that of a sentinel, a case
// that no change of ours can make slower (a device memcpy, cuBLASLt's GEMM), so that a drift of the
// machine cancels. Alarm: further from the median of the last kNightsBack nights than kNightSpreads
// x 1.4826 x MAD and than the floor. Source: spec/statistics.md, "Nightly"; what it promises there
// is checked in nightly_alarm_test.cc. It fails for a slow creep, which FindChangePoints
// (change_points.h) finds, and where nights differ much (model E: the median of a run of two modes
// hides 3 %). The sentinel is the page's proposal and not simulated. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_NIGHTLY_ALARM_H_
#define DRAFTMARK_SRC_PERF_NIGHTLY_ALARM_H_

#include <cstddef>
#include <span>
#include <string>

#include "src/perf/verdict.h"

namespace draftmark {

inline constexpr std::size_t kNightRuns = 5;
inline constexpr std::size_t kNightsBack = 30;
// Of fewer nights a MAD says too little; until then there is no baseline.
inline constexpr std::size_t kFewestNights = 10;
inline constexpr double kNightSpreads = 4;
inline constexpr double kLeastNightMad = 0.002;  // share of the median
inline constexpr double kNightFloor = 0.015;

struct NightJudgement {
  Verdict verdict = Verdict::kUnclear;  // slower, faster or same; unclear: too few nights
  std::string reason;                   // of unclear
  std::size_t nights = 0;               // that were looked at
  double baseline = 0;                  // their median
  double ratio = 0;                     // tonight over baseline
  double threshold = 0;                 // the share by which the ratio may differ from 1
};

// The median of the runs' values over that of the sentinel's runs; without a sentinel (empty) it is
// the median itself. At least one run, values above 0.
double LevelOfNight(std::span<const double> runs, std::span<const double> sentinel_runs);

// `last` oldest first; only its last kNightsBack count. Values above 0. `floor` at least
// kNightFloor.
NightJudgement JudgeNight(std::span<const double> last, double tonight, double floor = kNightFloor);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_NIGHTLY_ALARM_H_
