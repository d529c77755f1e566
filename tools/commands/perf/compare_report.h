// What `draftmark perf compare` prints, and its exit codes.
//
// JSON: {schema_version: 1, verdict, exit_code, look, floor, runs: {base, new, base_files,
// new_files} ("measured" or "assumed"), cases: [...] (case_report.h), only_in_base: [...],
// only_in_new: [...], missing: {cases, counts}}, of which a verdict that would be same or faster is
// unclear; with --allow-missing both are 0.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_REPORT_H_

#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/perf/perf_comparison.h"
#include "tools/commands/perf/case_report.h"

namespace draftmark {

struct CompareReport {
  PerfComparison compared;
  JudgeOptions options;
  bool base_assumed = false;
  bool next_assumed = false;
  std::size_t base_files = 0;
  std::size_t next_files = 0;
  MissingInNew missing = {};  // none with --allow-missing
  std::string command;        // that compares the same files; --case=NAME is added
};

std::string CompareText(const CompareReport& report);
OrderedJson CompareJson(const CompareReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_REPORT_H_
