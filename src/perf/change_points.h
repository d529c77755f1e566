// Where the level of a series of nights changed: L1 Potts, exactly.
//
//   for (const LevelChange& change : FindChangePoints(night_values)) {
//     nights[change.first];   // the first night of the new level
//     change.step;            // 0.02: slower by 2 %
//   }
//
// Of all ways to cut the series into segments of at least kShortestSegment nights, takes the one
// whose sum of absolute deviations from the segments' medians plus gamma for each cut is smallest
// (dynamic programming over every cut, the earliest of equal ones). gamma = penalty x sigma x ln n,
// sigma from the MAD of first differences: steps do not widen it, as they would a deviation of the
// whole. Then the smallest step below kSmallestStep is taken out, and again, until none is left,
// so that a creep in small steps is told as soon as its sum is large enough.
//
// Source: spec/statistics.md, "Nightly"; change_points_test.cc checks its figures. It fails where
// neighbouring nights are correlated (sigma is then too small), for a change in the last two
// nights, which no segment can hold yet, and for two odd nights together, which look like three.
// Any unit. O(n^2 log n): 10 ms for 400 nights. Pure.
#ifndef DRAFTMARK_SRC_PERF_CHANGE_POINTS_H_
#define DRAFTMARK_SRC_PERF_CHANGE_POINTS_H_

#include <cstddef>
#include <span>
#include <vector>

namespace draftmark {

inline constexpr std::size_t kShortestSegment = 3;  // nights
inline constexpr double kSmallestStep = 0.01;       // share of the level before
inline constexpr double kChangePenalty = 3;         // gamma in sigma x ln n

// For a normal distribution the standard deviation is so many median absolute deviations.
inline constexpr double kSigmaPerMad = 1.4826;

struct LevelChange {
  std::size_t first = 0;  // index of the first value of the new level
  double before = 0;      // medians of the segments on both sides
  double after = 0;
  double step = 0;  // after / before - 1
};

// In the series' order. Values above 0 and finite, oldest first; nights without a value are left
// out by the caller.
std::vector<LevelChange> FindChangePoints(std::span<const double> values,
                                          double penalty = kChangePenalty);

// Median of the absolute deviations from the median. At least one value.
double MedianAbsoluteDeviation(std::span<const double> values);

// Standard deviation of the noise about levels that change now and then. 0 below two values.
double SigmaOfDifferences(std::span<const double> values);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_CHANGE_POINTS_H_
