// `draftmark scratch`: every field of a DFlash scratch, its bytes, and what borrows it.
#ifndef DRAFTMARK_TOOLS_COMMANDS_SCRATCH_SCRATCH_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_SCRATCH_SCRATCH_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddScratchCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_SCRATCH_SCRATCH_COMMAND_H_
