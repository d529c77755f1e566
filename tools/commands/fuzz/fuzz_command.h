// `draftmark fuzz [--seed N] [--first N] [--cases N | --seconds N] [--tries N] [--backend
// reference|cuda] [--out DIR] [--only operations|histories] [--format text|json]`: draws cases of
// operations and of whole drafts, and makes what fails as small as it goes
// (conformance/random/fuzz.h). For a draft it writes a case folder below DIR, for an operation it
// prints the case's id: `draftmark verify` takes both.
//
// Exit codes: 0 nothing was found, 1 something was, 2 usage or data.
#ifndef DRAFTMARK_TOOLS_COMMANDS_FUZZ_FUZZ_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_FUZZ_FUZZ_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddFuzzCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_FUZZ_FUZZ_COMMAND_H_
