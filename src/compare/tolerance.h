// How far an implementation may lie from the float64 oracle of one operation: an error model, not a
// constant.
//
// Classes and figures: spec/drafter.md section 10. The oracle computes in float64 from the same
// stored inputs and is not rounded; a bound then has up to three parts, added up:
//   rounding      `roundings` spacings of the output type at the oracle's value (one rounding costs
//                 half of one; the class allows a whole one, so that a sum at a midpoint may fall on
//                 either side)
//   accumulation  2^-22 * log2(n) * sum |a_i * b_i| for an FP32 reduction over n products: grows with
//                 the length and with the magnitudes, which is what is left where terms cancel
//   attention     a share of max |v|, by the type in which probabilities multiply V
//
//   const ErrorModel gemm = SingleRound(/*reduction=*/4096);
//   const BoundedComparison c =
//       CompareWithin(shape, oracle, got, Bounds(gemm, oracle, magnitudes));
//   c.used_share;   // 0.43: the worst element uses 43 % of its bound; above 1 fails
//
// Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_COMPARE_TOLERANCE_H_
#define DRAFTMARK_SRC_COMPARE_TOLERANCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/compare/comparison.h"
#include "src/compare/ulp.h"

namespace draftmark {

enum class ToleranceClass {
  kExact,              // T0: bits equal
  kSingleRound,        // T1: one rounding of the output, FP32 accumulation
  kAttention,          // T2
  kAlternateRounding,  // T3: other published rounding chains; reported, never failed
  kEndToEnd,           // T4: whole drafts, judged by conformance/drafts
};
std::string_view ToleranceClassName(ToleranceClass tolerance);  // "T0" ... "T4"

// In what the probabilities of an attention multiply V.
enum class ProbabilityType { kF32, kF16, kBf16 };

struct ErrorModel {
  ToleranceClass tolerance = ToleranceClass::kSingleRound;
  UlpUnit output = UlpUnit::kBf16;
  double roundings = 1;           // spacings of `output`
  double accumulation = 0;        // factor of an element's magnitude sum
  double value_share = 0;         // factor of max |v|
  double largest_term_share = 0;  // factor of the magnitude of an element's largest term
};

ErrorModel Exact();
// `reduction` is the number of products summed in FP32; 0 for an elementwise operation.
ErrorModel SingleRound(std::uint64_t reduction = 0);
ErrorModel AttentionModel(ProbabilityType probabilities);
// `roundings` spacings for a chain that rounds on its way, plus `magnitude_share` of the magnitude
// sum (RoPE and convolution chains: 3 and 5 units of 2^-8).
ErrorModel AlternateRounding(double roundings, double magnitude_share = 0);

// What each element may differ by. `magnitudes` holds the sum of the magnitudes of each element's
// terms, or is empty where the model does not use it; `largest_value` is max |v| of an attention.
// `largest_terms` are those of each element, or empty likewise.
std::vector<double> Bounds(const ErrorModel& model, std::span<const double> oracle,
                           std::span<const double> magnitudes = {}, double largest_value = 0,
                           std::span<const double> largest_terms = {});

struct BoundedComparison {
  Comparison comparison;
  double used_share = 0;  // largest |got - oracle| / bound; infinite where a bound of 0 is missed
                          // or a NaN or infinity stands on one side only
  std::uint64_t tightest = 0;   // index of that element
  std::uint64_t exceeding = 0;  // elements beyond their bound
  bool passed() const { return exceeding == 0; }
};

BoundedComparison CompareWithin(const Shape& shape, std::span<const double> oracle,
                                std::span<const double> got, std::span<const double> bounds,
                                UlpUnit unit = UlpUnit::kBf16);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_COMPARE_TOLERANCE_H_
