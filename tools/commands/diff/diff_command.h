// `draftmark diff DUMP --case CASE`, or `draftmark diff DUMP --weights CHECKPOINT [--target-weights
// CHECKPOINT] [--config FILE [--entry NAME]] --inputs FILE`: compares the stages that another
// engine dumped, names the first that is off and the known mistakes that reproduce the dump.
// `--list-mistakes` prints what is known. Exit codes: 0 the dump agrees, 1 it is off, 2 usage or
// data error.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DIFF_DIFF_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_DIFF_DIFF_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddDiffCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DIFF_DIFF_COMMAND_H_
