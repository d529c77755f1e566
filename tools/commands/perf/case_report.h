// What every subcommand of `draftmark perf` shares in what it prints: exit codes, a case's line, a
// case as JSON.
//
// A case as JSON: name, verdict, reason, base and new ({runs, samples, value_s, median_s}; value is
// the median of the run values and median that of the runs' own medians), ratio, ci_998, ci_95, p,
// variation, detectable_shift, add_runs; where there are cycles, cycles ({verdict, ratio, ci_998,
// p}); where there are exact counts, counts ([{counter, base, new, change}], the larger count of a
// side's runs, null where it has none; change is larger, smaller, same, or null); reproduce. Where
// a benchmark failed its numbers are absent.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_CASE_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_CASE_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"
#include "src/perf/perf_comparison.h"

namespace draftmark {

// Part of the command line contract (spec/statistics.md).
enum PerfExitCode : int {
  kPerfGood = 0,    // same or faster
  kPerfSlower = 1,  // or an exact count is larger
  kPerfError = 2,   // wrong usage, or data that cannot be used
  kPerfUnclear = 3,
  kPerfInvalid = 4,     // too noisy, contaminated, or a benchmark failed
  kPerfNoBaseline = 5,  // no baseline, or no case in common
};
int PerfExitCodeOf(Verdict verdict);

// "SLOWER draft/a: ratio ...", its reason below where it has one, and a line for each exact count
// that is another ("LARGER draft/a: launches: ..."). Ends with a newline.
std::string CaseText(const PerfCase& judged, bool assumed);
OrderedJson CaseJson(const PerfCase& judged, const std::string& reproduce);

// "12 cases, 1 slower, 11 same, 2 counts larger", without a newline.
std::string CountsText(const std::vector<PerfCase>& cases);
std::size_t LargerCounts(const std::vector<PerfCase>& cases);

std::string UpperCase(std::string_view text);

// A word as a POSIX shell reads it back: in single quotes unless it is plain.
std::string ShellWord(const std::string& word);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_CASE_REPORT_H_
