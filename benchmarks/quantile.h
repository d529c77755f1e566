// Quantiles of a series of measurements.
#ifndef DRAFTMARK_BENCHMARKS_QUANTILE_H_
#define DRAFTMARK_BENCHMARKS_QUANTILE_H_

#include <cmath>
#include <cstddef>
#include <vector>

namespace draftmark {

// Of ascending values, at least one; the lower of two in the middle.
inline double Quantile(const std::vector<double>& values, double share) {
  const double last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::floor(share * last))];
}

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_QUANTILE_H_
