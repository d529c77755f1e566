#include "tools/commands/history/history_command.h"

#include "tools/commands/history/drop_command.h"
#include "tools/commands/history/import_command.h"
#include "tools/commands/history/judge_command.h"
#include "tools/commands/history/list_command.h"
#include "tools/commands/history/maintenance_command.h"

namespace draftmark {

void AddHistoryCommand(CLI::App& app, CommandContext& context) {
  CLI::App* const history =
      app.add_subcommand("history", "Keep the results of runs, and look them up");
  history->require_subcommand(1);
  history->footer(
      "A history is a file FILE (SQLite) and a folder FILE.runs with one JSONL file per record, "
      "from which\nFILE can be made again. Any number of processes may use it at once.\n"
      "Exit codes: 0 good; 1 something was left out, or check found a fault; 2 wrong usage or "
      "data.");
  AddImportCommand(*history, context);
  AddMergeCommand(*history, context);
  AddJudgeCommand(*history, context);
  AddListCommand(*history, context);
  AddShowCommand(*history, context);
  AddRebuildCommand(*history, context);
  AddCheckCommand(*history, context);
  AddRetainCommand(*history, context);
  AddDropCommand(*history, context);
  AddRestoreCommand(*history, context);
  AddReleaseCommand(*history, context);
}

}  // namespace draftmark
