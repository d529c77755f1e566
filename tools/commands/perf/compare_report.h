// What `draftmark perf compare` prints, and its exit codes.
//
// JSON: {schema_version: 1, verdict, exit_code, look, floor, runs: {base, new, base_files,
// new_files} ("measured" or "assumed"), cases: [...], only_in_base: [...], only_in_new: [...]}. A
// case: name, verdict, reason, base and new ({runs, samples, value_s, median_s}; value is the
// median of the run values and median that of the runs' own medians), ratio, ci_998, ci_95, p,
// variation, detectable_shift, add_runs, reproduce. Where a benchmark failed its numbers are
// absent.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_REPORT_H_

#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/perf/perf_comparison.h"

namespace draftmark {

// Part of the command line contract (spec/statistics.md).
enum PerfExitCode : int {
  kPerfGood = 0,  // same or faster
  kPerfSlower = 1,
  kPerfError = 2,  // wrong usage, or data that cannot be used
  kPerfUnclear = 3,
  kPerfInvalid = 4,     // too noisy, or a benchmark failed
  kPerfNoBaseline = 5,  // no baseline, or no case in common
};
int PerfExitCodeOf(Verdict verdict);

struct CompareReport {
  PerfComparison compared;
  JudgeOptions options;
  bool base_assumed = false;
  bool next_assumed = false;
  std::size_t base_files = 0;
  std::size_t next_files = 0;
  std::string command;  // that compares the same files; --case=NAME is added
};

std::string CompareText(const CompareReport& report);
OrderedJson CompareJson(const CompareReport& report);

// A word as a POSIX shell reads it back: in single quotes unless it is plain.
std::string ShellWord(const std::string& word);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_REPORT_H_
