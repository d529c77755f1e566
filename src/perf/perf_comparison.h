// Two sides of benchmark reports, case by case, judged by verdict.h.
//
//   DM_ASSIGN_OR_RETURN(const PerfSide base, CollectSide(base_reports));
//   DM_ASSIGN_OR_RETURN(const PerfSide next, CollectSide(next_reports));
//   DM_ASSIGN_OR_RETURN(const PerfComparison compared, ComparePerf(base, next, {}));
//   compared.verdict;   // of all cases together
//
// One report is one run, and its repetitions are that run's samples. Where every run of both sides
// has cycles, a case is judged in time and in cycles, and where the two disagree it is unclear. A
// run with too many void samples (benchmark_counters.h) makes its case invalid. Exact counts that
// the reports have (count_comparison.h) are compared beside it, whatever the times say. A case that
// has counts only has no judgement. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_PERF_COMPARISON_H_
#define DRAFTMARK_SRC_PERF_PERF_COMPARISON_H_

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/perf/count_comparison.h"
#include "src/perf/google_benchmark.h"
#include "src/perf/run_value.h"
#include "src/perf/verdict.h"

namespace draftmark {

struct PerfCaseRuns {
  std::string name = {};
  std::vector<RunValue> runs = {};    // seconds
  std::string unit = {};              // empty where every run failed
  std::string unit_field = {};        // BenchmarkCase
  std::string failure = {};           // the first, or the first run with too many void samples
  std::vector<RunValue> cycles = {};  // one for each of `runs`, or fewer where some have none
  CountRanges counts = {};            // of the runs that did not fail
};

struct PerfSide {
  std::vector<PerfCaseRuns> cases;  // by first appearance
  std::size_t reports = 0;
  // The side is one report with repetitions, and each repetition was taken for a run. They share
  // their process's offset, so false alarms are to be expected (page: 5 to 33 in 100).
  bool assumed = false;
};

// Errors: a case changes its unit; a case has more than kMostRuns.
StatusOr<PerfSide> CollectSide(const std::vector<BenchmarkReport>& reports);

struct PerfCase {
  std::string name = {};
  Verdict verdict = Verdict::kInvalid;
  std::string reason = {};                     // of unclear and invalid
  std::optional<Judgement> judgement = {};     // none: it failed, or has counts only
  std::optional<Judgement> in_cycles = {};     // where there are cycles; `judgement` is in time
  std::vector<RunValue> base = {}, next = {};  // seconds
  std::string unit = {};
  std::size_t add_runs = 0;  // the larger of both judgements'
  std::vector<CountComparison> counts = {};

  std::size_t LargerCounts() const;
  std::size_t MissingCounts() const;
};

struct PerfComparison {
  std::vector<PerfCase> cases;  // of both sides, in base's order
  std::vector<std::string> only_base, only_next;
  // Slower if a case is or has a larger count, else invalid, else unclear, else faster if a case
  // is, else same.
  Verdict verdict = Verdict::kSame;
};

// One case. Error: the sides' units differ.
StatusOr<PerfCase> JudgeCase(const PerfCaseRuns& base, const PerfCaseRuns& next,
                             const JudgeOptions& options);

// The verdict of several cases, by the order above.
Verdict VerdictOf(const std::vector<PerfCase>& cases);

// What BASE has and NEW does not. Nobody knows whether it is slower or larger, so that without more
// said the verdict of all is never better than unclear.
struct MissingInNew {
  std::size_t cases = 0;
  std::size_t counts = 0;  // exact counts of cases that both have

  bool any() const { return cases + counts > 0; }
  // "2 cases and 1 count of BASE are not in NEW"; empty for none.
  std::string ToString() const;
};
MissingInNew MissingOf(const std::vector<PerfCase>& cases,
                       const std::vector<std::string>& only_base);
Verdict WithMissing(Verdict verdict, const MissingInNew& missing);

// "25 of 100 samples are void (voided_throttle 25)" if too many are, else empty.
std::string TooManyVoid(const BenchmarkCase& found);

// `only` names the cases to compare; empty: all. Error: the sides' units of a case differ.
StatusOr<PerfComparison> ComparePerf(const PerfSide& base, const PerfSide& next,
                                     const JudgeOptions& options,
                                     const std::vector<std::string>& only = {});

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_PERF_COMPARISON_H_
