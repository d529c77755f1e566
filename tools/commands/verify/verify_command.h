// `draftmark verify [CASE ...] [--backend reference|cuda|./libmine.so] [--time-limit SECONDS] [--precision exact|bf16]
// [--scratch v1|v2|contiguous|all] [--golden DIR] [--expectations FILE | --arch NAME]
// [--format text|json]`: runs operations, and oracle cases stage by stage, and reports the first
// stage that is off. What is known to fail on an architecture is told apart
// (conformance/expectations/expectations.h). Sizes, configs and the scratch are the same whoever
// computes.
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddVerifyCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_VERIFY_COMMAND_H_
