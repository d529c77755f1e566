#include "tools/commands/history/history_options.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "src/base/printable.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {

void AddDatabaseOption(CLI::App& command, std::string& database) {
  database = "history.db";
  command.add_option("--db", database, "The history; its JSONL files lie in FILE.runs")
      ->type_name("FILE")
      ->capture_default_str();
}

StatusOr<History> OpenHistory(const std::string& database, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(History history, History::Open(database));
  if (history.recovered() > 0) {
    context.err << fmt::format(
        "draftmark: {}: took in {} records that only the folder had: an earlier command was cut "
        "short\n",
        database, history.recovered());
  }
  Warn(history.problems(), context);
  return StatusOr<History>(std::move(history));
}

std::string_view OutcomeWord(AddOutcome outcome) {
  switch (outcome) {
    case AddOutcome::kAdded:
      return "added";
    case AddOutcome::kKnown:
      return "known";
    case AddOutcome::kReplaced:
      return "replaced";
    case AddOutcome::kDropped:
      return "dropped";
  }
  return "";
}

void Warn(const std::vector<std::string>& problems, CommandContext& context) {
  for (const std::string& problem : problems) {
    context.err << "draftmark: warning: " << WithoutControls(problem) << "\n";
  }
}

StatusOr<std::int64_t> TimeOption(const std::string& option, const std::string& text) {
  const std::optional<std::int64_t> time = ParseUtc(text);
  if (time) return *time;
  return InvalidArgumentError(
      fmt::format("{}: expected a time as 2026-11-30T02:24:17Z, found \"{}\"", option, text));
}

void OnCall(CLI::App& command, CommandContext& context, std::function<Status()> work) {
  command.callback([work = std::move(work), &context] {
    if (const Status status = work(); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
