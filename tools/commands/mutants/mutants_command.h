// `draftmark mutants`: does the suite find every known mistake? Runs mutants_runner, a program with
// the mistakes built in, which this one does not hold.
//
// Exit codes: 0 every mutant is killed by the check meant for it and the clean build raises no
// alarm, 1 otherwise, 2 usage, no runner, or nothing that it can run on.
#ifndef DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANTS_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANTS_COMMAND_H_

#include <CLI/CLI.hpp>

#include "tools/commands/command.h"

namespace draftmark {

// The context must outlive the app.
void AddMutantsCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_MUTANTS_MUTANTS_COMMAND_H_
