// Compares two tensors element by element and sums up how they differ. It knows neither who
// computed them nor what is allowed: see conformance/ for judgements. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_COMPARE_COMPARISON_H_
#define DRAFTMARK_SRC_COMPARE_COMPARISON_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "src/compare/ulp.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

// Upper edges of the histogram's buckets in ULPs; one more bucket counts what is above the last (or
// not finite).
inline constexpr std::array<double, 10> kUlpBucketEdges = {0, 0.5, 1, 2, 4, 8, 16, 64, 256, 4096};

struct Comparison {
  Shape shape;
  UlpUnit unit = UlpUnit::kBf16;
  std::uint64_t elements = 0;
  // |got - expected| / |expected| in the Euclidean norm. 0 for two zero tensors; infinite if only
  // `expected` is zero, or if a NaN or infinity stands where the other side has something else.
  double relative_l2 = 0;
  double max_abs = 0;
  // The element that is farthest off: the largest absolute difference, a non-finite mismatch before
  // all others.
  std::uint64_t worst_index = 0;
  double worst_expected = 0;
  double worst_got = 0;
  double worst_ulps = 0;
  std::uint64_t nonfinite_mismatches = 0;
  std::array<std::uint64_t, kUlpBucketEdges.size() + 1> histogram{};
};

// Both spans have as many elements as `shape` says.
Comparison Compare(const Shape& shape, std::span<const double> expected,
                   std::span<const double> got, UlpUnit unit);

// "[0, 3, 17]: expected 0.5, got 0.25, 64 BF16 ULPs".
std::string DescribeWorst(const Comparison& comparison);
// "0: 12 | <=0.5: 400 | <=1: 3 | >4096: 1": buckets that are not empty.
std::string DescribeHistogram(const Comparison& comparison);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_COMPARE_COMPARISON_H_
