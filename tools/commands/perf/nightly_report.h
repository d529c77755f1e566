// What `draftmark perf nightly` prints and records. JSON: nightly_command.h.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"
#include "src/perf/history/record.h"
#include "src/perf/nightly.h"
#include "tools/commands/perf/night_counts.h"
#include "tools/commands/perf/night_runs.h"

namespace draftmark {

struct EnvironmentReport {
  EnvironmentNights nights;
  std::vector<NightlyCase> cases;
  std::vector<NightCount> counts = {};

  std::int64_t time = 0;  // that its verdicts are recorded for

  bool AnyLarger() const;   // a count
  bool AnyMissing() const;  // a count
};

// How the reason of a case begins that fresh runs might have confirmed.
inline constexpr std::string_view kUnconfirmed = "slower, not confirmed";

struct NightlyReport {
  std::string night;
  std::string database;
  std::vector<EnvironmentReport> environments;
  bool with_sentinel = true;            // false: --no-sentinel
  std::vector<std::string> fresh = {};  // reports that confirmed, or their folder
  bool unconfirmed = false;             // slower, and there were no fresh runs
  std::string flags = {};               // further ones of the line that reproduces it
};

// Of cases that have a baseline; their worst, as VerdictOf (perf_comparison.h).
Verdict NightlyVerdict(const std::vector<NightlyCase>& cases);
// With the counts: a larger one is slower, and with a missing one nothing is better than unclear.
// A night in which nothing has a baseline is unclear.
Verdict NightlyVerdict(const NightlyReport& report);
// 5 if no case has a baseline and none is invalid.
int NightlyExitCode(const NightlyReport& report);

std::string NightlyText(const NightlyReport& report);
OrderedJson NightlyJson(const NightlyReport& report);
GateRecord NightlyRecord(const NightlyReport& report, const EnvironmentReport& environment);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_REPORT_H_
