// `draftmark draft CONFIG [--entry NAME] [--backend reference|cuda] [--context N] [--bands N]
// [--gamma N] [--seed N] [--precision exact|bf16] [--check] [--format text|json]`: runs a drafter of
// any published size on generated weights, and prints tokens, times and memory. In JSON
// `draft_tokens` of a step is a list of tokens, and with several bands a list of those.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddDraftCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_COMMAND_H_
