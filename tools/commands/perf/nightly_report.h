// What `draftmark perf nightly` prints and records. JSON: nightly_command.h.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_REPORT_H_

#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/perf/history/record.h"
#include "src/perf/nightly.h"
#include "tools/commands/perf/night_runs.h"

namespace draftmark {

struct EnvironmentReport {
  EnvironmentNights nights;
  std::vector<NightlyCase> cases;
};

struct NightlyReport {
  std::string night;
  std::string database;
  std::vector<EnvironmentReport> environments;
  bool with_sentinel = true;            // false: --no-sentinel
  std::vector<std::string> fresh = {};  // reports that confirmed, or their folder
};

// Of cases that have a baseline; their worst, as VerdictOf (perf_comparison.h).
Verdict NightlyVerdict(const std::vector<NightlyCase>& cases);
Verdict NightlyVerdict(const NightlyReport& report);
// 5 if no case has a baseline and none is invalid.
int NightlyExitCode(const NightlyReport& report);

std::string NightlyText(const NightlyReport& report);
OrderedJson NightlyJson(const NightlyReport& report);
GateRecord NightlyRecord(const NightlyReport& report, const EnvironmentReport& environment);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_REPORT_H_
