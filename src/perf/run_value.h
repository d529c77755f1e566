// What one run (one fresh process) says of a case: a single number, since samples of one process
// are no independent evidence (spec/statistics.md, lesson 1).
//
//   const RunValue run = RunValueOf(samples);   // run.value decides, run.median is shown beside it
//
// Estimates the level of a run. The fastest 10 % and the slowest 20 % of the samples are dropped
// and the rest is averaged: as robust as the median where launches are now and then lengthened, and
// it keeps its power where a kernel has two modes, in which the median jumps between them (lesson
// 3). It fails where more than a fifth of the samples are disturbed. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_RUN_VALUE_H_
#define DRAFTMARK_SRC_PERF_RUN_VALUE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace draftmark {

// Shares of a run's samples that are dropped, rounded down to whole ones: of 30 samples, 3 and 6.
inline constexpr double kDroppedFastest = 0.1;
inline constexpr double kDroppedSlowest = 0.2;

struct RunValue {
  double value = 0;   // mean of what is left
  double median = 0;  // of all samples
  std::size_t samples = 0;
};

// At least one sample, all finite. Any unit.
RunValue RunValueOf(std::vector<double> samples);

// The middle value, or the mean of the two in the middle. At least one value.
double Median(std::vector<double> values);

// Run-to-run spread: the standard deviation of both sides' values about their own side's mean, as a
// share of that mean, degrees of freedom pooled. 0 where no side has two runs. Values above 0.
double PooledVariation(std::span<const double> base, std::span<const double> next);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_RUN_VALUE_H_
