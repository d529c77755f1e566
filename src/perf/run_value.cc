#include "src/perf/run_value.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/check.h"

namespace draftmark {
namespace {

double MedianOfSorted(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2;
}

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// 0.1 * 30 is 3 although 0.1 is no binary fraction.
std::size_t WholeShare(double share, std::size_t count) {
  return static_cast<std::size_t>(std::floor(share * static_cast<double>(count) + 1e-9));
}

}  // namespace

RunValue RunValueOf(std::vector<double> samples) {
  DM_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const std::size_t fastest = WholeShare(kDroppedFastest, samples.size());
  const std::size_t slowest = WholeShare(kDroppedSlowest, samples.size());
  const std::span<const double> sorted(samples);
  return {MeanOf(sorted.subspan(fastest, samples.size() - fastest - slowest)),
          MedianOfSorted(sorted), samples.size()};
}

double Median(std::vector<double> values) {
  DM_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return MedianOfSorted(values);
}

double PooledVariation(std::span<const double> base, std::span<const double> next) {
  double squares = 0;
  std::size_t freedom = 0;
  for (const std::span<const double> side : {base, next}) {
    if (side.size() < 2) continue;
    const double mean = MeanOf(side);
    for (const double value : side) squares += (value / mean - 1) * (value / mean - 1);
    freedom += side.size() - 1;
  }
  return freedom == 0 ? 0 : std::sqrt(squares / static_cast<double>(freedom));
}

}  // namespace draftmark
