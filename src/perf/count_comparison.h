// Exact counts (IsExactCounter of benchmark_counters.h) of a case on two sides.
//
//   CountRanges base, next;
//   for (const BenchmarkReport& report : base_reports) ... AddCounts(found.counts, base);
//   for (const CountComparison& count : CompareCountRanges(base, next)) {
//     if (count.Larger()) failed = true;   // however little: these are no measurements
//   }
//
// The runs of one build should all count the same. Where they do not, the largest counts, and it is
// said. A count that only NEW has is no finding, since a benchmark may come to count more; it is
// said too. One that only BASE has is missing: nobody knows that it has not grown. Source of the
// rule: spec/statistics.md, "Memory, allocations, launches, bytes". Pure.
#ifndef DRAFTMARK_SRC_PERF_COUNT_COMPARISON_H_
#define DRAFTMARK_SRC_PERF_COUNT_COMPARISON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace draftmark {

// Of the runs of one side.
struct CountRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
using CountRanges = std::map<std::string, CountRange>;  // by counter

// One more run.
void AddCounts(const std::map<std::string, std::uint64_t>& counts, CountRanges& ranges);

struct CountComparison {
  std::string counter;
  std::optional<CountRange> base, next;  // absent: that side does not have it

  bool Larger() const { return base && next && next->most > base->most; }
  bool Smaller() const { return base && next && next->most < base->most; }
  bool Missing() const { return base && !next; }
  // "launches: expected 24 as in BASE, found 25 (+1)", and what to know of the runs. Empty where
  // nothing is to be said.
  std::string ToString() const;
};

// By counter: all that either side has.
std::vector<CountComparison> CompareCountRanges(const CountRanges& base, const CountRanges& next);

// The findings, a line for each: "LARGER draft/a: launches: expected ...", "SMALLER ...", "MISSING
// ...", and "COUNT ..." for what is no finding and should be known.
std::string CountLines(const std::string& case_name, const std::vector<CountComparison>& counts);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_COUNT_COMPARISON_H_
