// `draftmark history NAME`: the history of runs (src/perf/history/history.h).
//
//   import, merge            import_command.h
//   list, show               list_command.h
//   rebuild, check, retain, release    maintenance_command.h
//
// Each takes --db FILE. Exit codes: 0 good; 1 something was left out, or `check` found a fault; 2
// wrong usage, or nothing could be done.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_HISTORY_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_HISTORY_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddHistoryCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_HISTORY_COMMAND_H_
