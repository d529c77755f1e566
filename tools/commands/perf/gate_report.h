// What `draftmark perf gate` prints.
//
// JSON: {schema_version: 1, verdict, exit_code, advisory, seed, processes, disturbed, base, new,
// out, cases: [...], only_in_base: [...], only_in_new: [...], missing: {cases, counts}, reproduce}.
// A case: as in case_report.h, and look, floor, fresh ({confirmed, ratio, p}; where it was slower).
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/perf/gate.h"
#include "src/perf/history/record.h"

namespace draftmark {

struct GateReport {
  GateResult result;
  std::string base, next;  // commands
  std::string folder;      // of their reports
  std::uint64_t seed = 0;
  std::string command;        // that runs all of it again
  std::string note = {};      // of its A/A runs, where nothing is known by them
  MissingInNew missing = {};  // none with --allow-missing
  std::string advisory = {};  // why a bad verdict fails nothing; empty: it does
};

std::vector<PerfCase> CasesOf(const GateResult& result);

// 0 for an advisory gate, unless a count is larger or something is missing: that is exact on a
// noisy machine too.
int GateExitCode(const GateReport& report);
std::string GateText(const GateReport& report);
OrderedJson GateJson(const GateReport& report);
// For the history.
GateRecord GateRecordOf(const GateReport& report, std::int64_t time, const std::string& base_commit,
                        const std::string& next_commit);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_REPORT_H_
