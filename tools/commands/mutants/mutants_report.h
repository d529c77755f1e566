// What `draftmark mutants` prints.
#ifndef DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANTS_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANTS_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "tools/commands/mutants/mutant_run.h"

namespace draftmark {

struct MutantResult {
  MutantSpec mutant;
  MutantRun run;
};

struct MutantsReport {
  std::string backend;
  MutantRun clean;
  std::vector<MutantResult> results;

  std::size_t Killed() const;
  // No alarm in the clean build, and every mutant killed by the check meant for it.
  bool good() const { return clean.findings.empty() && Killed() == results.size(); }
};

// Lines with their newlines. CleanText: how many checks passed, or each alarm.
std::string CleanText(const MutantRun& clean);
std::string MutantText(const MutantResult& result);
// "N of N killed", of those that the check meant for them killed.
std::string TotalText(const MutantsReport& report);
// {"schema_version": 1, "backend", "clean": {"checks", "alarms": [{"check", "detail"}]}, "mutants":
// [{"id", "what", "meant", "where", "verdict": killed|other|survived, "killed_by", "detail",
// "findings": [{"check", "detail"}]}], "killed", "total"}. killed_by: the check meant for it, else
// the first that failed, else "".
OrderedJson MutantsJson(const MutantsReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANTS_REPORT_H_
