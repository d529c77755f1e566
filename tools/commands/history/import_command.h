// `draftmark history import PATH...`: reports of Google Benchmark, draftmark verify and draftmark
// bench roofline, and folders of results of the bundle, become runs. `draftmark history merge
// PATH...` takes in the JSONL files of other machines. Both may be repeated: what is there stays as
// it is and is called known.
//
// JSON of import: {schema_version: 1, db, runs: [{id, outcome, program, source, points,
// conformance}], added, known, replaced, dropped}. Of merge: {schema_version: 1, db, added, known,
// replaced, dropped, problems: [text]}. Dropped is what `history drop` took out: it stays out.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_IMPORT_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_IMPORT_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddImportCommand(CLI::App& history, CommandContext& context);
void AddMergeCommand(CLI::App& history, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_IMPORT_COMMAND_H_
