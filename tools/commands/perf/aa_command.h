// `draftmark perf aa`: gates of a build against itself. Exit codes: 0; 1 the machine is noisy, so
// that its gate is advisory; 2 usage or data error; 4 no comparison has a verdict; 5 no program.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_AA_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_AA_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddAaCommand(CLI::App& perf, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_AA_COMMAND_H_
