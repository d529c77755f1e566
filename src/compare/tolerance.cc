#include "src/compare/tolerance.h"

#include <cmath>
#include <limits>

#include "src/base/check.h"

namespace draftmark {

std::string_view ToleranceClassName(ToleranceClass tolerance) {
  switch (tolerance) {
    case ToleranceClass::kExact:
      return "T0";
    case ToleranceClass::kSingleRound:
      return "T1";
    case ToleranceClass::kAttention:
      return "T2";
    case ToleranceClass::kAlternateRounding:
      return "T3";
    case ToleranceClass::kEndToEnd:
      return "T4";
  }
  return "";
}

ErrorModel Exact() {
  ErrorModel model;
  model.tolerance = ToleranceClass::kExact;
  model.roundings = 0;
  return model;
}

ErrorModel SingleRound(std::uint64_t reduction) {
  ErrorModel model;
  // At least one addition: log2(1) would leave nothing for a single product in FP32.
  if (reduction > 0) {
    model.accumulation = std::ldexp(std::max(1.0, std::log2(static_cast<double>(reduction))), -22);
  }
  return model;
}

ErrorModel AttentionModel(ProbabilityType probabilities) {
  ErrorModel model;
  model.tolerance = ToleranceClass::kAttention;
  switch (probabilities) {
    case ProbabilityType::kF32:
      model.value_share = std::ldexp(1, -9);
      break;
    case ProbabilityType::kF16:
      model.value_share = 2 * std::ldexp(1, -11);
      break;
    case ProbabilityType::kBf16:
      model.value_share = 2 * std::ldexp(1, -8);
      break;
  }
  return model;
}

ErrorModel AlternateRounding(double roundings, double magnitude_share) {
  ErrorModel model;
  model.tolerance = ToleranceClass::kAlternateRounding;
  model.roundings = roundings;
  model.accumulation = magnitude_share;
  return model;
}

std::vector<double> Bounds(const ErrorModel& model, std::span<const double> oracle,
                           std::span<const double> magnitudes, double largest_value,
                           std::span<const double> largest_terms) {
  DM_CHECK(magnitudes.empty() || magnitudes.size() == oracle.size());
  DM_CHECK(largest_terms.empty() || largest_terms.size() == oracle.size());
  std::vector<double> bounds(oracle.size());
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    double bound = model.roundings > 0 && std::isfinite(oracle[i])
                       ? model.roundings * Spacing(oracle[i], model.output)
                       : 0;
    if (!magnitudes.empty()) bound += model.accumulation * magnitudes[i];
    if (!largest_terms.empty()) bound += model.largest_term_share * largest_terms[i];
    bounds[i] = bound + model.value_share * largest_value;
  }
  return bounds;
}

BoundedComparison CompareWithin(const Shape& shape, std::span<const double> oracle,
                                std::span<const double> got, std::span<const double> bounds,
                                UlpUnit unit) {
  DM_CHECK(bounds.size() == oracle.size());
  BoundedComparison result;
  result.comparison = Compare(shape, oracle, got, unit);
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    const double ulps =
        UlpDistance(oracle[i], got[i], unit);  // 0 for equal NaNs, infinite for one-sided ones
    double share = 0;
    if (ulps > 0) {
      // A NaN or infinity where none belongs has no share of any bound, an infinite one neither.
      const bool measurable = std::isfinite(ulps) && bounds[i] > 0;
      share = measurable ? std::abs(got[i] - oracle[i]) / bounds[i]
                         : std::numeric_limits<double>::infinity();
    }
    if (share > 1) ++result.exceeding;
    if (share > result.used_share) {
      result.used_share = share;
      result.tightest = i;
    }
  }
  return result;
}

}  // namespace draftmark
