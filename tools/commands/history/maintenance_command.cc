#include "tools/commands/history/maintenance_command.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/printable.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/retention.h"
#include "src/perf/history/utc_time.h"
#include "tools/commands/history/history_options.h"
#include "tools/commands/history/show_text.h"

namespace draftmark {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

struct Options {
  std::string database;
  OutputFormat format = OutputFormat::kText;
};

std::int64_t TodayOf(const CommandContext& context) {
  return std::chrono::sys_days(context.clock.Today()).time_since_epoch().count();
}

Status Rebuild(const Options& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const RebuildReport report, RebuildHistory(options.database));
  Warn(report.problems, context);
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, {{"schema_version", 1},
                            {"db", options.database},
                            {"records", report.records},
                            {"replaced", report.replaced},
                            {"restored", report.restored},
                            {"moved_aside", report.moved_aside},
                            {"problems", report.problems}});
  } else {
    if (!report.moved_aside.empty()) {
      context.out << fmt::format("the damaged database is now {}\n", OneLine(report.moved_aside));
    }
    context.out << fmt::format(
        "{}: {} records, {} files written again, {} runs replaced by their nights, {} files left "
        "out\n",
        options.database, report.records, report.restored, report.replaced, report.problems.size());
  }
  if (!report.problems.empty()) context.exit_code = kExitMismatch;
  return OkStatus();
}

Status Check(const Options& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const CheckReport report, CheckHistory(options.database));
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, {{"schema_version", 1},
                            {"db", options.database},
                            {"records", report.records},
                            {"problems", report.problems}});
  } else {
    for (const std::string& problem : report.problems)
      context.out << "FAULT " << WithoutControls(problem) << "\n";
    context.out << fmt::format("{}: {} records, {} faults\n", options.database, report.records,
                               report.problems.size());
  }
  if (!report.problems.empty()) context.exit_code = kExitMismatch;
  return OkStatus();
}

struct RetainOptions : Options {
  std::int64_t nights = 0;
  std::int64_t days = 0;
  bool apply = false;
  std::string archive;
};

std::string RetainText(const RetentionPlan& plan, const RetainOptions& options) {
  const std::string verb = options.apply ? "" : "would ";
  const char* const fate = options.archive.empty() ? "delete" : "move";
  std::string text;
  std::size_t runs = 0;
  for (const RetainedNight& night : plan.nights) {
    runs += night.runs.size();
    text += fmt::format("{}replace night {} of {}: {} runs, {} points\n", verb, night.night,
                        EnvironmentText(night.environment), night.runs.size(), night.points);
    for (const std::string& uid : night.runs) {
      text += fmt::format("  {}{} {}\n", verb, fate, RecordFileName(uid));
    }
  }
  for (const std::string& name : plan.leftovers) {
    text += fmt::format("{}{} {}: its night is in the history already\n", verb, fate, name);
  }
  text += fmt::format("{}: {} nights, {} runs{}\n", options.database, plan.nights.size(), runs,
                      options.apply ? " replaced" : "; nothing was changed, --apply does it");
  return text;
}

OrderedJson RetainJson(const RetentionPlan& plan, const RetainOptions& options) {
  OrderedJson json = {{"schema_version", 1},
                      {"db", options.database},
                      {"applied", options.apply},
                      {"archive", options.archive},
                      {"nights", OrderedJson::array()},
                      {"leftovers", plan.leftovers}};
  for (const RetainedNight& night : plan.nights) {
    json["nights"].push_back({{"night", night.night},
                              {"environment", EnvironmentText(night.environment)},
                              {"runs", night.runs},
                              {"points", night.points}});
  }
  return json;
}

Status Retain(const RetainOptions& options, CommandContext& context) {
  // Nothing to retain in a history that is made for it would pass for a night's work.
  if (!RealFileSystem().IsDirectory(RunsFolderOf(options.database))) {
    DM_RETURN_IF_ERROR(HistoryReader::Open(options.database).status());
  }
  DM_ASSIGN_OR_RETURN(History history, OpenHistory(options.database, context));
  RetentionRule rule{.nights = options.nights};
  if (options.days > 0) {
    rule.first_day = NightOfDay(std::max<std::int64_t>(0, TodayOf(context) - options.days + 1));
  }
  DM_ASSIGN_OR_RETURN(const RetentionPlan plan, PlanRetention(history, rule));
  // Said before it is done, so that it is said whatever happens.
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, RetainJson(plan, options));
  } else {
    context.out << RetainText(plan, options) << std::flush;
  }
  if (!options.apply) return OkStatus();
  return ApplyRetention(history, plan, options.archive).status();
}

struct ReleaseOptions : Options {
  ReleaseRecord release;
  std::string time;
};

Status Release(const ReleaseOptions& options, CommandContext& context) {
  ReleaseRecord release = options.release;
  release.time = TodayOf(context) * kSecondsPerDay;
  if (!options.time.empty()) {
    DM_ASSIGN_OR_RETURN(release.time, TimeOption("--time", options.time));
  }
  DM_ASSIGN_OR_RETURN(History history, OpenHistory(options.database, context));
  DM_ASSIGN_OR_RETURN(const Added added, history.Add(release));
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, {{"schema_version", 1},
                            {"db", options.database},
                            {"id", added.uid},
                            {"outcome", OutcomeWord(added.outcome)}});
  } else {
    context.out << fmt::format("{} {} release {} at {}\n", OutcomeWord(added.outcome), added.uid,
                               release.name, FormatUtc(release.time));
  }
  return OkStatus();
}

}  // namespace

void AddRebuildCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      history.add_subcommand("rebuild", "Make the database again from its JSONL files");
  command->footer(
      "A damaged database is kept under another name. Files that are gone are first written again "
      "from the old\ndatabase. Exit code 1: a file was left out, since it is no whole record.");
  AddDatabaseOption(*command, options->database);
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Rebuild(*options, context); });
}

void AddCheckCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = history.add_subcommand(
      "check", "Read everything: is the database whole, and does it say what its files say?");
  AddDatabaseOption(*command, options->database);
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Check(*options, context); });
}

void AddRetainCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<RetainOptions>();
  CLI::App* const command =
      history.add_subcommand("retain", "Turn the runs of old nights into one record a night");
  command->footer(
      "Without --apply it only says what it would do. What stays of a night: median, least and "
      "largest value, number\nof runs, exact counts. Runs that checked conformance, verdicts, A/A "
      "results, accepted changes and releases stay.");
  AddDatabaseOption(*command, options->database);
  command
      ->add_option("--nights", options->nights, "How many nights of each machine keep their runs")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--days", options->days, "How many days back, today included, keep their runs")
      ->check(CLI::PositiveNumber);
  command->add_flag("--apply", options->apply, "Do it");
  command
      ->add_option("--archive", options->archive,
                   "Move the JSONL files there; else they are deleted")
      ->type_name("DIR");
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Retain(*options, context); });
}

void AddReleaseCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<ReleaseOptions>();
  CLI::App* const command = history.add_subcommand("release", "Mark a release on the time axis");
  AddDatabaseOption(*command, options->database);
  command->add_option("NAME", options->release.name, "Its name, as v1.2")->required();
  command->add_option("--commit", options->release.commit, "Its commit")->required();
  command->add_option("--note", options->release.note, "What to show beside it");
  command->add_option("--time", options->time, "When, as 2026-11-30T02:24:17Z; default: today");
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Release(*options, context); });
}

}  // namespace draftmark
