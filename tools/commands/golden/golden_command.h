// `draftmark golden list|check|regen|diff|export`.
#ifndef DRAFTMARK_TOOLS_COMMANDS_GOLDEN_GOLDEN_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_GOLDEN_GOLDEN_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddGoldenCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_GOLDEN_GOLDEN_COMMAND_H_
