#include "src/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/check.h"

namespace draftmark {

Comparison Compare(const Shape& shape, std::span<const double> expected,
                   std::span<const double> got, UlpUnit unit) {
  DM_CHECK(expected.size() == got.size());
  Comparison result;
  result.shape = shape;
  result.unit = unit;
  result.elements = expected.size();
  double error = 0;
  double norm = 0;
  double worst = -1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double ulps = UlpDistance(expected[i], got[i], unit);
    const bool nonfinite = !std::isfinite(expected[i]) || !std::isfinite(got[i]);
    // Where one side is not finite a difference is either none or beyond every bound.
    const double difference = nonfinite ? ulps : std::abs(got[i] - expected[i]);
    if (nonfinite && difference > 0) ++result.nonfinite_mismatches;
    if (!nonfinite) {
      error += difference * difference;
      norm += expected[i] * expected[i];
      result.max_abs = std::max(result.max_abs, difference);
    }
    if (difference > worst) {
      worst = difference;
      result.worst_index = i;
      result.worst_expected = expected[i];
      result.worst_got = got[i];
      result.worst_ulps = ulps;
    }
    const auto bucket = std::lower_bound(kUlpBucketEdges.begin(), kUlpBucketEdges.end(), ulps);
    ++result.histogram[static_cast<std::size_t>(bucket - kUlpBucketEdges.begin())];
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (result.nonfinite_mismatches > 0) {
    result.relative_l2 = kInfinity;
    result.max_abs = kInfinity;
  } else if (error > 0) {
    result.relative_l2 = norm > 0 ? std::sqrt(error / norm) : kInfinity;
  }
  return result;
}

std::string DescribeWorst(const Comparison& c) {
  if (c.elements == 0) return "no elements";
  return fmt::format("{}: expected {:.9g}, got {:.9g}, {:.3g} {} ULPs",
                     LogicalIndex(c.shape, c.worst_index), c.worst_expected, c.worst_got,
                     c.worst_ulps, UlpUnitName(c.unit));
}

std::string DescribeHistogram(const Comparison& c) {
  std::string text;
  for (std::size_t i = 0; i < c.histogram.size(); ++i) {
    if (c.histogram[i] == 0) continue;
    if (!text.empty()) text += " | ";
    if (i == 0) {
      text += fmt::format("0: {}", c.histogram[i]);
    } else if (i < kUlpBucketEdges.size()) {
      text += fmt::format("<={:g}: {}", kUlpBucketEdges[i], c.histogram[i]);
    } else {
      text += fmt::format(">{:g}: {}", kUlpBucketEdges.back(), c.histogram[i]);
    }
  }
  return text;
}

}  // namespace draftmark
