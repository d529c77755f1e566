// The exact two-sided Mann-Whitney U test, for any ties.
//
//   const double p = MannWhitneyP(base_run_values, next_run_values);
//
// Estimates how often a random split of all values into two sides of these sizes has a U that lies
// at least as far from its mean as the one seen; tied values share the mean of their ranks. No
// normal approximation anywhere, so p is right for few runs: the smallest possible is
// 2 / C(n + m, n) (0.002 for 6 + 6, 0.0006 for 7 + 7, 1.1e-5 for 10 + 10). It says nothing of how
// large the difference is, and assumes that runs are independent. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_MANN_WHITNEY_H_
#define DRAFTMARK_SRC_PERF_MANN_WHITNEY_H_

#include <cstddef>
#include <span>

namespace draftmark {

// Values of one side at most: the work grows with the fifth power (0.1 s here), and the counts of
// splits stay far within a double.
inline constexpr std::size_t kMostRuns = 100;

// 1 to kMostRuns finite values on each side.
double MannWhitneyP(std::span<const double> base, std::span<const double> next);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_MANN_WHITNEY_H_
