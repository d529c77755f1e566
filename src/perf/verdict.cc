#include "src/perf/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "src/base/check.h"
#include "src/perf/mann_whitney.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

// Quantiles of the normal distribution.
constexpr double kZPower = 2.1280;  // 1 - 0.05 / 3: each of three conditions may miss that often
constexpr double kZ9995 = 3.2905;   // two-sided p of 0.001
constexpr double kZ999 = 3.0902;    // two-sided interval of 99.8 %

double MedianOf(std::span<const double> values) {
  return Median(std::vector<double>(values.begin(), values.end()));
}

// Slower, faster or same by the three conditions; unclear if neither.
Verdict Decide(const Judgement& judged, const JudgeOptions& options) {
  const bool significant = judged.p < (options.look == Look::kFirst ? kFirstLookP : kSecondLookP);
  if (significant && judged.ratio > 1 + options.floor && judged.shift.low > 1) {
    return Verdict::kSlower;
  }
  if (significant && judged.ratio < 1 - options.floor && judged.shift.high < 1) {
    return Verdict::kFaster;
  }
  if (judged.same.low >= 1 - options.floor && judged.same.high <= 1 + options.floor) {
    return Verdict::kSame;
  }
  return Verdict::kUnclear;
}

// What an undecided comparison still lacks.
void Explain(std::size_t runs, const JudgeOptions& options, Judgement& judged) {
  if (options.look == Look::kSecond) {
    judged.reason = "neither a shift nor its absence is shown by the second look";
    return;
  }
  const std::size_t wanted = RunsFor(judged.variation);
  if (runs < wanted) {
    judged.add_runs = wanted - runs;
    judged.reason =
        fmt::format("{} runs a side, and a first look at this spread takes {}", runs, wanted);
    return;
  }
  judged.add_runs = kAddedRuns;
  judged.reason = fmt::format(
      "neither a shift nor its absence is shown; a second look takes {} more runs a side",
      kAddedRuns);
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSame:
      return "same";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kUnclear:
      return "unclear";
    case Verdict::kInvalid:
      return "invalid";
  }
  DM_CHECK(false);
  return "";
}

std::string_view LookName(Look look) { return look == Look::kFirst ? "first" : "second"; }

double FloorOf(double aa_spread) { return std::max(kFloor, kFloorSpreads * aa_spread); }

std::size_t RunsFor(double variation) {
  return variation > kNoisyVariation ? kNoisyRuns : kFirstLookRuns;
}

Judgement Judge(std::span<const double> base, std::span<const double> next,
                const JudgeOptions& options) {
  DM_CHECK(options.floor >= kFloor);
  Judgement judged;
  judged.base = MedianOf(base);
  judged.next = MedianOf(next);
  judged.ratio = judged.next / judged.base;
  judged.p = MannWhitneyP(base, next);
  const RatioBootstrap bootstrap(base, next);
  judged.shift = bootstrap.Central(kShiftConfidence);
  judged.same = bootstrap.Central(kSameConfidence);
  judged.variation = PooledVariation(base, next);
  const std::size_t runs = std::min(base.size(), next.size());
  if (runs < kFewestRuns) {
    judged.add_runs = kFirstLookRuns - runs;
    judged.reason = fmt::format("{}+{} runs; at least {} a side are needed, {} are usual",
                                base.size(), next.size(), kFewestRuns, kFirstLookRuns);
    return judged;
  }
  judged.detectable = DetectableShift(judged.variation, base.size(), next.size(), options.floor);
  if (judged.variation > kInvalidVariation) {
    judged.verdict = Verdict::kInvalid;
    judged.reason = fmt::format("too noisy: run values spread by {:.2f} %, above {:.1f} %",
                                judged.variation * 100, kInvalidVariation * 100);
    return judged;
  }
  judged.verdict = Decide(judged, options);
  if (judged.verdict == Verdict::kUnclear) Explain(runs, options, judged);
  return judged;
}

bool Confirms(std::span<const double> base, std::span<const double> next) {
  if (std::min(base.size(), next.size()) < kConfirmRuns) return false;
  return MedianOf(next) / MedianOf(base) > 1 + kConfirmFloor &&
         MannWhitneyP(base, next) < kConfirmP;
}

double DetectableShift(double variation, std::size_t base_runs, std::size_t next_runs,
                       double floor) {
  const double difference = variation * std::sqrt(1 / static_cast<double>(base_runs) +
                                                  1 / static_cast<double>(next_runs));
  // A median spreads by sqrt(pi / 2) times the error of a mean; U has 3 / pi of a t-test's
  // efficiency.
  const double of_medians = std::sqrt(std::numbers::pi / 2) * difference;
  return std::max({floor + kZPower * of_medians, (kZ999 + kZPower) * of_medians,
                   (kZ9995 + kZPower) * std::sqrt(std::numbers::pi / 3) * difference});
}

}  // namespace draftmark
