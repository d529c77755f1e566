#include "src/perf/aa_quality.h"

#include <cmath>
#include <numbers>

#include "src/perf/run_value.h"

namespace draftmark {
namespace {

// A median of n values spreads by sqrt(pi / 2 / n) of what they do.
double ErrorOfRatio(const PerfCase& judged) {
  return judged.judgement->variation * std::sqrt(std::numbers::pi / 2 *
                                                 (1 / static_cast<double>(judged.base.size()) +
                                                  1 / static_cast<double>(judged.next.size())));
}

void Count(const GateCase& c, AaCounts& counts) {
  if (c.judged.verdict == Verdict::kInvalid) {
    ++counts.invalid;
    return;
  }
  ++counts.comparisons;
  counts.alarms += c.fresh_runs;
  counts.confirmed += c.confirmed;
  counts.faster += c.judged.verdict == Verdict::kFaster;
  counts.unclear += c.judged.verdict == Verdict::kUnclear && !c.fresh_runs;
}

}  // namespace

double AaCounts::PerThousand() const {
  return comparisons == 0 ? 0
                          : 1000 * static_cast<double>(alarms) / static_cast<double>(comparisons);
}

bool IsNoisy(const AaCounts& counts) { return counts.PerThousand() > kMostAlarmsPerThousand; }

double AaCase::spread() const {
  if (!known()) return 0;
  if (ratios.size() < kFewestAaRatios) return Median(errors);
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio - 1) * (ratio - 1);
  return std::sqrt(squares / static_cast<double>(ratios.size()));
}

double AaCase::detectable_shift() const { return detectable.empty() ? 0 : Median(detectable); }

void AaTally::Add(const GateResult& result) {
  for (const GateCase& c : result.cases) {
    AaCase& one = cases_[c.judged.name];
    Count(c, one.counts);
    if (c.judged.verdict == Verdict::kInvalid || !c.judged.judgement) continue;
    one.ratios.push_back(c.judged.judgement->ratio);
    one.errors.push_back(ErrorOfRatio(c.judged));
    one.detectable.push_back(c.judged.judgement->detectable);
  }
}

AaCounts AaTally::total() const {
  AaCounts sum;
  for (const auto& [name, one] : cases_) {
    sum.comparisons += one.counts.comparisons;
    sum.alarms += one.counts.alarms;
    sum.confirmed += one.counts.confirmed;
    sum.faster += one.counts.faster;
    sum.unclear += one.counts.unclear;
    sum.invalid += one.counts.invalid;
  }
  return sum;
}

}  // namespace draftmark
