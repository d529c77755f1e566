// `draftmark perf NAME`: did it get slower? compare_command.h is the one so far.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_PERF_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_PERF_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddPerfCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_PERF_COMMAND_H_
