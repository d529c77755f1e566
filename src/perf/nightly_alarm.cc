#include "src/perf/nightly_alarm.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/check.h"
#include "src/perf/change_points.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

double MedianOf(std::span<const double> values) {
  return Median(std::vector<double>(values.begin(), values.end()));
}

}  // namespace

double LevelOfNight(std::span<const double> runs, std::span<const double> sentinel_runs) {
  return MedianOf(runs) / (sentinel_runs.empty() ? 1 : MedianOf(sentinel_runs));
}

NightJudgement JudgeNight(std::span<const double> last, double tonight, double floor) {
  DM_CHECK(floor >= kNightFloor && tonight > 0);
  last = last.last(std::min(last.size(), kNightsBack));
  NightJudgement judged{.reason = {}, .nights = last.size()};
  if (last.size() < kFewestNights) {
    judged.reason = fmt::format("{} nights before this one; at least {} are needed", last.size(),
                                kFewestNights);
    return judged;
  }
  judged.baseline = MedianOf(last);
  judged.ratio = tonight / judged.baseline;
  const double mad = std::max(MedianAbsoluteDeviation(last) / judged.baseline, kLeastNightMad);
  judged.threshold = std::max(kNightSpreads * kSigmaPerMad * mad, floor);
  judged.verdict = judged.ratio > 1 + judged.threshold   ? Verdict::kSlower
                   : judged.ratio < 1 - judged.threshold ? Verdict::kFaster
                                                         : Verdict::kSame;
  return judged;
}

}  // namespace draftmark
