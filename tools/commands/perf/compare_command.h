// `draftmark perf compare BASE NEW`: reports of Google Benchmark of two builds, judged case by case
// by the rule of src/perf/verdict.h. Exit codes: compare_report.h.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddCompareCommand(CLI::App& perf, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_COMMAND_H_
