// `draftmark draft CONFIG`: runs a drafter of any published size on generated weights.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddDraftCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_COMMAND_H_
