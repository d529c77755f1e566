// What the subcommands of `draftmark history` share.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_HISTORY_OPTIONS_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_HISTORY_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/perf/history/history.h"
#include "tools/commands/command.h"

namespace draftmark {

// Adds `--db FILE` (default history.db).
void AddDatabaseOption(CLI::App& command, std::string& database);

// Opens for writing, and tells on the error stream what was taken in and what could not be read.
StatusOr<History> OpenHistory(const std::string& database, CommandContext& context);

// "added", "known", "replaced", "dropped".
std::string_view OutcomeWord(AddOutcome outcome);

// Each on a line of its own, as a warning.
void Warn(const std::vector<std::string>& problems, CommandContext& context);

// Seconds since 1970 of an option's value. INVALID_ARGUMENT: no time as 2026-11-30T02:24:17Z.
StatusOr<std::int64_t> TimeOption(const std::string& option, const std::string& text);

// Runs `work` when the subcommand is called; an error of it is the command's.
void OnCall(CLI::App& command, CommandContext& context, std::function<Status()> work);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_HISTORY_OPTIONS_H_
