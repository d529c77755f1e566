#include "tools/commands/history/drop_command.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

#include "src/perf/history/history_reader.h"
#include "src/perf/history/utc_time.h"
#include "tools/commands/history/history_options.h"

namespace draftmark {
namespace {

struct Options {
  std::string database;
  std::string id;
  std::string reason;
  OutputFormat format = OutputFormat::kText;
};

std::string NightOfToday(const CommandContext& context) {
  return NightOfDay(std::chrono::sys_days(context.clock.Today()).time_since_epoch().count());
}

Status Drop(const Options& options, CommandContext& context) {
  DM_RETURN_IF_ERROR(CheckTombstone({.reason = options.reason}).Annotated("--reason"));
  StatusOr<std::string> uid = FindDropped(options.database, options.id);
  const bool known = uid.ok();
  if (uid.status().code() == StatusCode::kNotFound) {
    DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(options.database));
    uid = reader.FindId(options.id);
  }
  DM_RETURN_IF_ERROR(uid.status());
  DM_ASSIGN_OR_RETURN(History history, OpenHistory(options.database, context));
  DM_ASSIGN_OR_RETURN(const Tombstone tombstone,
                      history.Drop(*uid, options.reason, NightOfToday(context)));
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, {{"schema_version", 1},
                            {"db", options.database},
                            {"id", *uid},
                            {"outcome", known ? "known" : "dropped"},
                            {"date", tombstone.date},
                            {"reason", tombstone.reason}});
    return OkStatus();
  }
  context.out << fmt::format("{} {} on {}: {}\n", known ? "known: dropped" : "dropped", *uid,
                             tombstone.date, tombstone.reason);
  return OkStatus();
}

Status Restore(const Options& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::string uid, FindDropped(options.database, options.id));
  DM_ASSIGN_OR_RETURN(History history, OpenHistory(options.database, context));
  DM_ASSIGN_OR_RETURN(const Added added, history.Restore(uid));
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, {{"schema_version", 1},
                            {"db", options.database},
                            {"id", uid},
                            {"outcome", OutcomeWord(added.outcome)}});
  } else {
    context.out << fmt::format("{} {}\n", OutcomeWord(added.outcome), uid);
  }
  return OkStatus();
}

}  // namespace

void AddDropCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = history.add_subcommand("drop", "Take a record out of the history");
  command->footer(
      "Its file goes to FILE.dropped, with the reason beside it. As long as that lies there, no "
      "import, merge or rebuild of\nFILE brings the record back; `history restore ID` does. What "
      "was concluded from it (verdicts) stays.");
  AddDatabaseOption(*command, options->database);
  command->add_option("ID", options->id, "Its id, or the first 4 digits or more")->required();
  command->add_option("--reason", options->reason, "Why; it is kept")->required();
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Drop(*options, context); });
}

void AddRestoreCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = history.add_subcommand("restore", "Bring a dropped record back");
  AddDatabaseOption(*command, options->database);
  command->add_option("ID", options->id, "Its id, or the first 4 digits or more")->required();
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Restore(*options, context); });
}

}  // namespace draftmark
