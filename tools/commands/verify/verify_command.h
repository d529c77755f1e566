// `draftmark verify [CASE_DIR ...] [--backend reference] [--precision exact|bf16] [--golden DIR]
// [--expectations FILE | --arch NAME] [--format text|json]`: runs oracle cases stage by stage and
// reports the first stage that is off. What is known to fail on an architecture is told apart
// (conformance/expectations/expectations.h).
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddVerifyCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_COMMAND_H_
