// `draftmark perf gate --base CMD --new CMD`: two builds measured in turn and judged by the method
// of src/perf/gate.h. Exit codes: case_report.h.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddGateCommand(CLI::App& perf, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_COMMAND_H_
