// `draftmark history rebuild`, `check`, `retain` and `release`.
//
// rebuild makes the database again from its JSONL files; check reads everything and says what does
// not fit (exit code 1); retain turns old nights into one record each, and only says what it would
// do unless --apply is there; release adds a mark to the time axis.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_MAINTENANCE_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_MAINTENANCE_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddRebuildCommand(CLI::App& history, CommandContext& context);
void AddCheckCommand(CLI::App& history, CommandContext& context);
void AddRetainCommand(CLI::App& history, CommandContext& context);
void AddReleaseCommand(CLI::App& history, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_MAINTENANCE_COMMAND_H_
