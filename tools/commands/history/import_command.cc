#include "tools/commands/history/import_command.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/import_bundle.h"
#include "src/perf/history/utc_time.h"
#include "tools/commands/history/history_options.h"

namespace draftmark {
namespace {

struct ImportOptions {
  std::string database;
  std::vector<std::string> paths;
  ImportFacts facts;
  std::string time;
  OutputFormat format = OutputFormat::kText;
};

constexpr std::size_t kOutcomes = static_cast<std::size_t>(AddOutcome::kDropped) + 1;

struct ImportedRun {
  RunRecord run;
  Added added;
};

std::string DroppedText(std::size_t dropped) {
  return dropped > 0 ? fmt::format(", {} dropped", dropped) : "";
}

std::string ImportText(const std::vector<ImportedRun>& imported, const std::string& database) {
  std::string text;
  std::array<std::size_t, kOutcomes> counts{};
  for (const ImportedRun& one : imported) {
    ++counts.at(static_cast<std::size_t>(one.added.outcome));
    text += fmt::format("{} {} {} {}: {} points", OutcomeWord(one.added.outcome), one.added.uid,
                        one.run.program, one.run.source, one.run.points.size());
    if (!one.run.conformance.empty()) {
      text += fmt::format(", {} conformance results", one.run.conformance.size());
    }
    if (!one.run.suites.empty()) text += fmt::format(", {} suites", one.run.suites.size());
    text += "\n";
  }
  return text + fmt::format("{}: {} runs added, {} known, {} replaced{}\n", database, counts[0],
                            counts[1], counts[2], DroppedText(counts[3]));
}

OrderedJson ImportJson(const std::vector<ImportedRun>& imported, const std::string& database) {
  OrderedJson json = {{"schema_version", 1}, {"db", database}, {"runs", OrderedJson::array()}};
  std::array<std::size_t, kOutcomes> counts{};
  for (const ImportedRun& one : imported) {
    ++counts.at(static_cast<std::size_t>(one.added.outcome));
    json["runs"].push_back({{"id", one.added.uid},
                            {"outcome", OutcomeWord(one.added.outcome)},
                            {"program", one.run.program},
                            {"source", one.run.source},
                            {"points", one.run.points.size()},
                            {"conformance", one.run.conformance.size()}});
  }
  json["added"] = counts[0];
  json["known"] = counts[1];
  json["replaced"] = counts[2];
  json["dropped"] = counts[3];
  return json;
}

// A night is what a run counts for, whatever its clock says; but a clock that is off should be
// known.
std::vector<std::string> ClockProblems(const std::vector<RunRecord>& runs, const Clock& clock) {
  constexpr std::int64_t kDaySeconds = 86400;
  const std::int64_t today = std::chrono::sys_days(clock.Today()).time_since_epoch().count();
  std::vector<std::string> problems;
  for (const RunRecord& run : runs) {
    const std::int64_t day = run.time / kDaySeconds;
    const std::int64_t night = DayOfNight(run.night).value_or(day);
    if (std::abs(day - night) > 1) {
      problems.push_back(fmt::format(
          "{}: its time {} is not of the night {} that it counts for: a clock may be wrong",
          run.source, FormatUtc(run.time), run.night));
    } else if (day > today + 1) {
      problems.push_back(fmt::format("{}: its time {} lies in the future: a clock may be wrong",
                                     run.source, FormatUtc(run.time)));
    }
  }
  return problems;
}

Status Import(ImportOptions options, CommandContext& context) {
  if (!options.time.empty()) {
    DM_ASSIGN_OR_RETURN(options.facts.time, TimeOption("--time", options.time));
  }
  if (!options.facts.night.empty() && !DayOfNight(options.facts.night)) {
    return InvalidArgumentError(
        fmt::format("--night: expected a day as 2026-11-30, found \"{}\"", options.facts.night));
  }
  // All are read before the first one is written.
  std::vector<RunRecord> runs;
  for (const std::string& path : options.paths) {
    DM_ASSIGN_OR_RETURN(std::vector<RunRecord> found, ImportPath(path, options.facts));
    for (RunRecord& run : found) runs.push_back(std::move(run));
  }
  if (options.facts.number && runs.size() > 1) {
    return InvalidArgumentError(
        fmt::format("--number: {} runs were given, and no two have the same number", runs.size()));
  }
  Warn(ClockProblems(runs, context.clock), context);
  DM_ASSIGN_OR_RETURN(History history, OpenHistory(options.database, context));
  std::vector<ImportedRun> imported;
  for (RunRecord& run : runs) {
    DM_ASSIGN_OR_RETURN(const Added added, history.Add(run));
    imported.push_back({std::move(run), added});
  }
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, ImportJson(imported, options.database));
  } else {
    context.out << ImportText(imported, options.database);
  }
  return OkStatus();
}

struct MergeOptions {
  std::string database;
  std::vector<std::string> paths;
  OutputFormat format = OutputFormat::kText;
};

Status Merge(const MergeOptions& options, CommandContext& context) {
  // Before a history is made for what is not there.
  DM_RETURN_IF_ERROR(FindMergeInput(options.paths).status());
  DM_ASSIGN_OR_RETURN(History history, OpenHistory(options.database, context));
  DM_ASSIGN_OR_RETURN(const MergeReport report, MergeHistory(history, options.paths));
  Warn(report.problems, context);
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, {{"schema_version", 1},
                            {"db", options.database},
                            {"added", report.added},
                            {"known", report.known},
                            {"replaced", report.replaced},
                            {"dropped", report.dropped},
                            {"problems", report.problems}});
  } else {
    context.out << fmt::format("{}: {} records added, {} known, {} replaced{}, {} left out\n",
                               options.database, report.added, report.known, report.replaced,
                               DroppedText(report.dropped), report.problems.size());
  }
  if (!report.problems.empty()) context.exit_code = kExitMismatch;
  return OkStatus();
}

}  // namespace

void AddImportCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* const command =
      history.add_subcommand("import", "Take in reports of benchmarks and results of the bundle");
  command->footer(
      "A PATH is a report (Google Benchmark's JSON, draftmark verify --format json, draftmark "
      "bench "
      "roofline\n--out), a folder of reports, or what the bundle's `run --out` wrote. One report "
      "is "
      "one run (one process).\nOptions go before what a file says of itself. The same file is one "
      "run, however often it is imported.");
  AddDatabaseOption(*command, options->database);
  command->add_option("PATH", options->paths, "Reports, or folders of them")->required();
  ImportFacts& facts = options->facts;
  command->add_option("--commit", facts.commit, "The commit that was measured");
  command->add_option("--time", options->time, "When it ran, as 2026-11-30T02:24:17Z");
  command->add_option("--night", facts.night, "The night that it counts for; default: its day");
  command->add_option("--arch", facts.environment.architecture, "Architecture, as sm_90 or cpu");
  command->add_option("--gpu", facts.environment.gpu, "Name of the GPU");
  command->add_option("--driver", facts.environment.driver, "Release of the driver");
  command->add_option("--cuda", facts.environment.cuda, "Version of CUDA");
  command->add_option("--clocks", facts.environment.clocks, "Clocks policy; default: default");
  command->add_option("--session", facts.session, "What the runs of one job share");
  command->add_option("--number", facts.number, "Of this process in its session")
      ->check(CLI::NonNegativeNumber);
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Import(*options, context); });
}

void AddMergeCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* const command =
      history.add_subcommand("merge", "Take in the records of other machines' histories");
  command->footer(
      "A PATH is a .jsonl file, a folder of them, or a history FILE with its folder FILE.runs. "
      "Merging twice, or in\nanother order, gives the same history. Exit code 1: a file was left "
      "out (damaged, or another record with an\nid that is there), or a folder has none; the "
      "others are in.");
  AddDatabaseOption(*command, options->database);
  command->add_option("PATH", options->paths, "JSONL files, folders of them, or histories")
      ->required();
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Merge(*options, context); });
}

}  // namespace draftmark
