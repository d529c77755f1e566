// `draftmark history list`: the newest runs, or with --what gates, series or environments.
// `draftmark history show ID`: one record with all its points; --jsonl prints it as its file has
// it.
//
// JSON of list: {schema_version: 1, db, environments: [{id, architecture, gpu, driver, cuda,
// clocks, runs}], and runs, gates or series: [...]}, whose members name an environment by its id.
// JSON of show: the lines of the record's file as one array.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_LIST_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_LIST_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddListCommand(CLI::App& history, CommandContext& context);
void AddShowCommand(CLI::App& history, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_LIST_COMMAND_H_
