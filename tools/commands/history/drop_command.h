// `draftmark history drop ID --reason TEXT` takes a record out of the history, as a run that was
// measured on a machine in trouble; `draftmark history restore ID` brings it back. `history list
// --what dropped` shows what is out.
//
// JSON of drop: {schema_version: 1, db, id, outcome ("dropped", or "known" if it was out already),
// date, reason}. Of restore: {schema_version: 1, db, id, outcome}, as of import.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_DROP_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_DROP_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddDropCommand(CLI::App& history, CommandContext& context);
void AddRestoreCommand(CLI::App& history, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_DROP_COMMAND_H_
