// Did it regress? The rule of spec/statistics.md over run values (run_value.h), as pure functions.
//
//   Judgement judged = Judge(base, next);              // first look: R = 10 runs on each side
//   if (judged.add_runs > 0) {
//     // measure that many more on each side, then
//     judged = Judge(base, next, {.look = Look::kSecond});
//   }
//   if (judged.verdict == Verdict::kSlower) {
//     // measure 10 + 10 fresh runs; only if they agree it fails a build
//     const bool confirmed = Confirms(fresh_base, fresh_next);
//   }
//
// What it promises (verdict_simulation_test.cc): at most 0.5 false alarms per 1,000 comparisons at
// the first verdict and 0.1 after confirmation, and 99 % of slowdowns by 3 % found, where
// run-to-run offsets are up to 1 %. A true slowdown below the floor passes. It fails where base and
// new were not interleaved: a drift of the machine between them is taken for a difference of the
// code. R = 16 for noisy cases and the limit of invalid are the page's proposals.
//
// Values are times: larger is slower. Thread-safe.
#ifndef DRAFTMARK_SRC_PERF_VERDICT_H_
#define DRAFTMARK_SRC_PERF_VERDICT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "src/perf/ratio_bootstrap.h"

namespace draftmark {

enum class Verdict { kFaster, kSame, kSlower, kUnclear, kInvalid };
std::string_view VerdictName(Verdict verdict);  // "faster" ...

enum class Look { kFirst, kSecond };
std::string_view LookName(Look look);  // "first", "second"

// Runs on each side. At 6 the smallest possible p is 0.002, so that nothing could be found.
inline constexpr std::size_t kFewestRuns = 7;
inline constexpr std::size_t kFirstLookRuns = 10;
inline constexpr std::size_t kNoisyRuns = 16;
inline constexpr std::size_t kAddedRuns = 6;
inline constexpr std::size_t kConfirmRuns = 10;

// Pooled run-to-run spread above which kNoisyRuns are due, and above which nothing is said.
inline constexpr double kNoisyVariation = 0.007;
inline constexpr double kInvalidVariation = 0.015;

// Every one of these has to hold for faster or slower: the floor (a change that matters), p, and
// the interval.
inline constexpr double kFloor = 0.015;
inline constexpr double kFloorSpreads = 4;  // a case's floor is at least so many A/A spreads
inline constexpr double kFirstLookP = 0.001;
inline constexpr double kSecondLookP = 0.0005;  // smaller, since it is a second chance
inline constexpr double kShiftConfidence = 0.998;
inline constexpr double kSameConfidence = 0.95;

// A confirmation is asked for one shift in one direction, so less is enough; the strict rule again
// would cost power and buy nothing.
inline constexpr double kConfirmP = 0.01;
inline constexpr double kConfirmFloor = 0.01;

// The floor of a case whose A/A comparisons spread by `aa_spread` (a share; 0 where not known).
double FloorOf(double aa_spread);

// How many runs on each side the first look should have.
std::size_t RunsFor(double variation);

struct JudgeOptions {
  Look look = Look::kFirst;
  double floor = kFloor;
};

struct Judgement {
  Verdict verdict = Verdict::kUnclear;
  std::string reason;        // of unclear and invalid, a sentence's part; else empty
  std::size_t add_runs = 0;  // so many more runs on each side may decide it; 0: nothing will
  double base = 0;           // medians of the run values
  double next = 0;
  double ratio = 0;  // next over base
  double p = 1;
  Interval shift;  // kShiftConfidence, of the ratio
  Interval same;   // kSameConfidence
  double variation = 0;
  double detectable = 0;  // see DetectableShift; 0: too few runs to find anything
};

// 1 to kMostRuns values above 0 on each side.
Judgement Judge(std::span<const double> base, std::span<const double> next,
                const JudgeOptions& options = {});

// Whether fresh runs agree that it is slower. False below kConfirmRuns a side.
bool Confirms(std::span<const double> base, std::span<const double> next);

// A slowdown, as a share, that a first look at so many runs finds with a probability of about 95 %
// (simulated: 95 to 99), where run values spread normally by `variation`: the largest of what the
// three conditions need. The spread is itself estimated from few runs, so take it for a size.
double DetectableShift(double variation, std::size_t base_runs, std::size_t next_runs,
                       double floor = kFloor);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_VERDICT_H_
