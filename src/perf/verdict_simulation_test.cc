// The table of targets of spec/statistics.md, checked by simulating the whole gate (first look at
// 10 + 10 runs of 30 samples, second look, confirmation by 10 + 10 fresh runs) under the noise
// models B to F, in 25 s on two cores. Seeded, so it passes always or never on a machine.
//
// Zero shift: 20,000 trials of each model, and 30,000 of D, the noisiest. The first verdict's
// target of 0.5 false alarms per 1,000 leaves room for 4 (bound 9.2 / 20,000 = 0.46) and 8 (14.4 /
// 30,000 = 0.48). After confirmation none may be seen: of all 110,000 trials the bound is 0.03 per
// 1,000, of one model alone 0.15 (D: 0.1), where the target is 0.1. Shifts: 4,000 trials of each
// model; 99 % holds with 95 % confidence up to 29 missed. Bounds are Clopper and Pearson's at 95 %,
// one-sided, and it is the bound that has to keep the target, not the rate.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/counter_hash.h"
#include "src/base/parallel.h"
#include "src/perf/noise_model.h"
#include "src/perf/verdict.h"

namespace draftmark {
namespace {

constexpr std::size_t kZeroShiftTrials = 20000;
constexpr std::size_t kNoisiestTrials = 30000;  // of D
constexpr std::size_t kPowerTrials = 4000;

struct Counts {
  std::size_t trials = 0;
  std::size_t slower = 0;     // by the first verdict, second look included
  std::size_t confirmed = 0;  // of these
  std::size_t unclear = 0;
  std::size_t invalid = 0;
};

void RunGate(const NoiseModel& model, double ratio, NoiseSource& source, Counts& counts) {
  ++counts.trials;
  std::vector<double> base = source.RunValues(model, kFirstLookRuns, 1);
  std::vector<double> next = source.RunValues(model, kFirstLookRuns, ratio);
  Judgement judged = Judge(base, next);
  if (judged.add_runs > 0) {
    for (const double value : source.RunValues(model, kAddedRuns, 1)) base.push_back(value);
    for (const double value : source.RunValues(model, kAddedRuns, ratio)) next.push_back(value);
    judged = Judge(base, next, {.look = Look::kSecond});
  }
  counts.unclear += judged.verdict == Verdict::kUnclear;
  counts.invalid += judged.verdict == Verdict::kInvalid;
  if (judged.verdict != Verdict::kSlower) return;
  ++counts.slower;
  const std::vector<double> fresh_base = source.RunValues(model, kConfirmRuns, 1);
  counts.confirmed += Confirms(fresh_base, source.RunValues(model, kConfirmRuns, ratio));
}

Counts Simulate(const NoiseModel& model, double ratio, std::size_t trials) {
  constexpr std::size_t kGrain = 100;
  std::vector<Counts> pieces(ParallelPieces(trials, kGrain));
  const std::uint64_t seed = BitsAt(static_cast<std::uint64_t>(model.name),
                                    static_cast<std::uint64_t>(std::llround(ratio * 1000)));
  ParallelFor(trials, kGrain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    for (std::size_t trial = begin; trial < end; ++trial) {
      NoiseSource source(BitsAt(seed, trial));  // so the number of threads changes nothing
      RunGate(model, ratio, source, pieces[piece]);
    }
  });
  Counts sum;
  for (const Counts& piece : pieces) {
    sum.trials += piece.trials;
    sum.slower += piece.slower;
    sum.confirmed += piece.confirmed;
    sum.unclear += piece.unclear;
    sum.invalid += piece.invalid;
  }
  std::cout << model.name << " x " << ratio << ": of " << sum.trials << ", slower " << sum.slower
            << ", confirmed " << sum.confirmed << ", unclear " << sum.unclear << ", invalid "
            << sum.invalid << "\n";
  return sum;
}

// P(X <= seen) of a binomial distribution.
double BinomialBelow(std::size_t seen, std::size_t trials, double probability) {
  const auto n = static_cast<double>(trials);
  double sum = 0;
  for (std::size_t i = 0; i <= seen; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                    k * std::log(probability) + (n - k) * std::log1p(-probability));
  }
  return sum;
}

// The largest rate under which so few are still seen in 5 % of experiments.
double UpperBound(std::size_t seen, std::size_t trials) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (BinomialBelow(seen, trials, middle) > 0.05 ? low : high) = middle;
  }
  return high;
}

double LowerBound(std::size_t seen, std::size_t trials) {
  return 1 - UpperBound(trials - seen, trials);
}

const NoiseModel& Model(char name) {
  return *std::find_if(kNoiseModels.begin(), kNoiseModels.end(),
                       [&](const NoiseModel& model) { return model.name == name; });
}

TEST(BoundsTest, KnownValues) {
  EXPECT_NEAR(UpperBound(0, 30000), 0.0000998, 1e-7);
  EXPECT_NEAR(UpperBound(8, 30000), 0.000481, 1e-6);
  EXPECT_NEAR(UpperBound(2, 10), 0.5069, 1e-4);
  EXPECT_NEAR(LowerBound(8, 10), 0.4931, 1e-4);
  EXPECT_GE(LowerBound(4000 - 29, 4000), 0.99);
  EXPECT_LT(LowerBound(4000 - 30, 4000), 0.99);
}

TEST(VerdictSimulationTest, FalseAlarmsAndUnclear) {
  std::size_t trials = 0;
  for (const NoiseModel& model : kNoiseModels) {
    SCOPED_TRACE(model.name);
    const Counts counts =
        Simulate(model, 1, model.name == 'D' ? kNoisiestTrials : kZeroShiftTrials);
    trials += counts.trials;
    EXPECT_LE(UpperBound(counts.slower, counts.trials), 0.5e-3);
    EXPECT_EQ(counts.confirmed, 0u);
    EXPECT_LE(UpperBound(counts.unclear, counts.trials), model.name == 'D' ? 0.20 : 0.05);
    EXPECT_LE(UpperBound(counts.invalid, counts.trials), 0.01);
  }
  EXPECT_LE(UpperBound(0, trials), 0.1e-3);  // after confirmation
}

TEST(VerdictSimulationTest, ThreePercentIsFound) {
  for (const NoiseModel& model : kNoiseModels) {
    SCOPED_TRACE(model.name);
    const Counts counts = Simulate(model, 1.03, kPowerTrials);
    EXPECT_GE(LowerBound(counts.confirmed, counts.trials), 0.99);
  }
}

// 99 % in B and 98 % in C are promised; what the page says of the others is within 3 points (four
// standard deviations of 4,000 trials).
TEST(VerdictSimulationTest, TwoPercent) {
  const auto found = [](char name) {
    const Counts counts = Simulate(Model(name), 1.02, kPowerTrials);
    return std::pair(counts.confirmed, counts.trials);
  };
  const auto [b, b_trials] = found('B');
  EXPECT_GE(LowerBound(b, b_trials), 0.99);
  const auto [c, c_trials] = found('C');
  EXPECT_GE(LowerBound(c, c_trials), 0.98);
  for (const auto& [name, share] : {std::pair('D', 0.71), {'E', 0.96}, {'F', 0.90}}) {
    const auto [seen, trials] = found(name);
    EXPECT_NEAR(static_cast<double>(seen) / static_cast<double>(trials), share, 0.03) << name;
  }
}

// What is printed beside a case. 920 of 1,000 is four standard deviations below 95 %.
TEST(VerdictSimulationTest, TheDetectableShiftIsDetected) {
  for (const NoiseModel& model : kNoiseModels) {
    NoiseSource source(SeedOf("detectable") + static_cast<std::uint64_t>(model.name));
    // The true spread, from many runs.
    const std::vector<double> many = source.RunValues(model, 2000, 1);
    double square = 0;
    double mean = 0;
    for (const double value : many) mean += value / 2000;
    for (const double value : many) square += (value / mean - 1) * (value / mean - 1) / 1999;
    const double shift = DetectableShift(std::sqrt(square), 10, 10);
    std::size_t seen = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      const std::vector<double> base = source.RunValues(model, 10, 1);
      seen += Judge(base, source.RunValues(model, 10, 1 + shift)).verdict == Verdict::kSlower;
    }
    std::cout << model.name << ": " << shift << " found in " << seen << " of 1000\n";
    EXPECT_GE(seen, 920u) << model.name;
  }
}

}  // namespace
}  // namespace draftmark
