#include "tools/commands/perf/counts_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/counts/scratch_counts.h"
#include "src/base/file_system.h"
#include "src/base/folder_lock.h"
#include "src/base/json.h"
#include "src/perf/history/result_folders.h"
#include "src/perf/recorded_counts.h"
#include "tools/commands/perf/case_report.h"
#include "tools/commands/perf/recorded_file.h"

namespace draftmark {
namespace {

struct Options {
  std::string recorded;              // empty: of the checkout
  std::string configs;               // likewise
  std::vector<std::string> results;  // reports of GPUs, and folders of them
  bool complete = false;
  std::string pattern;  // of accept
  std::string reason;
  OutputFormat format = OutputFormat::kText;
};

struct Now {
  CountedCases cases;
  std::vector<std::string> architectures;  // of which all cases were counted
  std::set<std::string> seen;              // of GPUs, whose cases were counted or not
  std::vector<std::string> without;        // results without a report of Google Benchmark
};

// False where it is no report of Google Benchmark, as results of the bundle hold others, too; a
// file that was named must be one.
StatusOr<bool> AddReport(const std::string& path, bool named, Now& now) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  if (!named) {
    DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path, {.allow_nonfinite = true}));
    if (!json.is_object() || !json.contains("benchmarks")) return false;
  }
  DM_ASSIGN_OR_RETURN(const CountedCases more, CountsOfReport(text, path));
  for (const auto& [counted, counts] : more) {
    if (counted.first.empty()) {
      return DataLossError(
          fmt::format("{}: context.gpu: expected a GPU with its architecture, sm_NN", path));
    }
    now.seen.insert(counted.first);
    Counts& most = now.cases[counted];
    for (const auto& [field, value] : counts) most[field] = std::max(most[field], value);
  }
  return true;
}

StatusOr<Now> CountNow(const Options& options) {
  DM_ASSIGN_OR_RETURN(const std::string configs, FileOfCheckout(options.configs, "golden/configs"));
  Now now;
  DM_ASSIGN_OR_RETURN(now.cases, CountScratch(configs));
  now.architectures = {""};
  for (const std::string& path : options.results) {
    DM_ASSIGN_OR_RETURN(const std::vector<ResultFolder> folders, FindResultFolders(path));
    bool any = false;
    for (const ResultFolder& folder : folders) {
      for (const std::string& report : folder.reports) {
        DM_ASSIGN_OR_RETURN(const bool read, AddReport(report, report == path, now));
        any = any || read;
      }
    }
    if (!any) now.without.push_back(path);
  }
  if (options.complete) {
    now.architectures.insert(now.architectures.end(), now.seen.begin(), now.seen.end());
  }
  return now;
}

int ExitCodeOf(const std::vector<CountFinding>& findings) {
  const auto any = [&](CountFindingKind kind) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const CountFinding& finding) { return finding.kind == kind; });
  };
  if (any(CountFindingKind::kLarger) || any(CountFindingKind::kGone) ||
      any(CountFindingKind::kMissing)) {
    return kPerfSlower;
  }
  return any(CountFindingKind::kNew) ? kPerfNoBaseline : kPerfGood;
}

// The flags that say what is looked at.
std::string FilesText(const Options& options) {
  std::string flags;
  if (!options.recorded.empty()) flags += " --recorded " + ShellWord(options.recorded);
  if (!options.configs.empty()) flags += " --configs " + ShellWord(options.configs);
  if (!options.results.empty()) flags += " --results";
  for (const std::string& path : options.results) flags += " " + ShellWord(path);
  return flags;
}

// Recorded cases of a GPU that was measured, without a count now.
std::vector<CountedCase> UnseenCases(const Now& now, const RecordedCounts& recorded) {
  std::vector<CountedCase> unseen;
  for (const auto& [counted, counts] : recorded.cases) {
    if (now.seen.contains(counted.first) && !now.cases.contains(counted)) unseen.push_back(counted);
  }
  return unseen;
}

// With the same files: without its report a case of a GPU could not be accepted.
std::string AcceptLine(const Options& options, const CountFinding& finding) {
  return fmt::format("draftmark perf accept {} --reason TEXT{}", ShellWord(finding.counted.second),
                     FilesText(options));
}

std::string Reproduce(const Options& options) {
  return "draftmark perf counts" + FilesText(options) + (options.complete ? " --complete" : "");
}

void PrintText(const Options& options, const Now& now, const RecordedCounts& recorded,
               const std::vector<CountFinding>& findings, CommandContext& context) {
  for (const std::string& path : now.without) {
    context.out << fmt::format("{}: no report of Google Benchmark, so nothing of a GPU\n", path);
  }
  if (!options.complete) {
    for (const CountedCase& counted : UnseenCases(now, recorded)) {
      context.out << fmt::format(
          "UNSEEN {} on {}: it is recorded, and not in these results (with --complete this "
          "fails)\n",
          counted.second, counted.first);
    }
  }
  const CountedCase* last = nullptr;
  for (const CountFinding& finding : findings) {
    if (last != nullptr && *last != finding.counted) {
      context.out << "  accept: " << AcceptLine(options, *(&finding - 1)) << "\n";
    }
    context.out << finding.ToString() << "\n";
    last = &finding.counted;
  }
  if (last != nullptr) context.out << "  accept: " << AcceptLine(options, findings.back()) << "\n";
  const auto unseen = std::count_if(
      recorded.cases.begin(), recorded.cases.end(),
      [&](const auto& one) { return !one.first.first.empty() && !now.cases.contains(one.first); });
  context.out << fmt::format("{} cases counted, {} findings", now.cases.size(), findings.size());
  if (unseen > 0) context.out << fmt::format(", {} cases of GPUs not looked at", unseen);
  context.out << "\nreproduce: " << Reproduce(options) << "\n";
}

OrderedJson FindingJson(const Options& options, const CountFinding& finding) {
  static constexpr const char* kNames[] = {"larger", "gone", "new", "smaller", "missing"};
  return {{"kind", kNames[static_cast<int>(finding.kind)]},
          {"architecture", finding.counted.first},
          {"case", finding.counted.second},
          {"field", finding.field},
          {"expected", finding.expected},
          {"found", finding.found},
          {"message", finding.ToString()},
          {"accept", AcceptLine(options, finding)}};
}

Status CompareNow(const Options& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const Now now, CountNow(options));
  const StatusOr<std::string> path = FileOfCheckout(options.recorded, kRecordedCounts);
  const StatusOr<RecordedCounts> recorded =
      path.ok() ? ReadRecordedCounts(*path) : StatusOr<RecordedCounts>(path.status());
  if (!recorded.ok()) {
    if (recorded.status().code() != StatusCode::kNotFound) return recorded.status();
    context.Fail(recorded.status().Annotated("no baseline"));
    context.exit_code = kPerfNoBaseline;
    return OkStatus();
  }
  const std::vector<CountFinding> findings = CompareCounts(*recorded, now.cases, now.architectures);
  context.exit_code = ExitCodeOf(findings);
  if (options.format == OutputFormat::kText) {
    PrintText(options, now, *recorded, findings, context);
    return OkStatus();
  }
  OrderedJson json = {{"schema_version", 1},
                      {"exit_code", context.exit_code},
                      {"cases", now.cases.size()},
                      {"findings", OrderedJson::array()}};
  for (const CountFinding& finding : findings)
    json["findings"].push_back(FindingJson(options, finding));
  json["unseen"] = OrderedJson::array();
  for (const CountedCase& counted : UnseenCases(now, *recorded)) {
    json["unseen"].push_back({{"architecture", counted.first}, {"case", counted.second}});
  }
  json["reproduce"] = Reproduce(options);
  PrintJson(context.out, json);
  return OkStatus();
}

Status Accept(const Options& options, CommandContext& context) {
  if (options.reason.find_first_not_of(" \t\n") == std::string::npos) {
    return InvalidArgumentError("--reason: expected why the change is meant, found nothing");
  }
  DM_ASSIGN_OR_RETURN(const Now now, CountNow(options));
  DM_ASSIGN_OR_RETURN(const std::string path, FileOfCheckout(options.recorded, kRecordedCounts));
  // Two at once would each write a record without the other's counts.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  DM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(folder.empty() ? "." : folder));
  RecordedCounts recorded;
  if (RealFileSystem().IsFile(path)) {
    DM_ASSIGN_OR_RETURN(recorded, ReadRecordedCounts(path));
  }
  const std::chrono::year_month_day today = context.clock.Today();
  const std::string date =
      fmt::format("{:04}-{:02}-{:02}", static_cast<int>(today.year()),
                  static_cast<unsigned>(today.month()), static_cast<unsigned>(today.day()));
  const std::vector<AcceptedCount> changes =
      AcceptCounts(now.cases, now.architectures, options.pattern,
                   {.date = date, .reason = options.reason}, recorded);
  if (changes.empty()) {
    return NotFoundError(fmt::format(
        "{}: no count of such a case differs from what is recorded in {}", options.pattern, path));
  }
  DM_RETURN_IF_ERROR(WriteTextFile(path, PrintRecordedCounts(recorded)));
  for (const AcceptedCount& change : changes) {
    context.out << fmt::format("ACCEPTED {}: {}: {} -> {}\n", change.case_id, change.field,
                               change.old_value, change.new_value);
  }
  context.out << fmt::format("{} counts recorded in {}\n", changes.size(), path);
  return OkStatus();
}

void AddFiles(CLI::App& command, Options& options) {
  command
      .add_option("--recorded", options.recorded,
                  "What is recorded (default: benchmarks/recorded/counts.json of the checkout)")
      ->type_name("FILE");
  command.add_option("--configs", options.configs, "Known configs (default: golden/configs)")
      ->type_name("DIR");
  command
      .add_option(
          "--results", options.results,
          "Reports of Google Benchmark from a GPU, for launches, allocations and its memory; a "
          "folder is that of the bundle's `run bench`, of reports, or of such folders")
      ->type_name("PATH...");
}

}  // namespace

void AddCountsCommand(CLI::App& perf, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = perf.add_subcommand(
      "counts", "Compare bytes, allocations and launches with the recorded ones, exactly");
  command->footer(
      "Bytes of each field of BufferSizes and DflashScratch for every known config are counted "
      "here and now, without a\nGPU. Exit codes: 0 nothing is larger; 1 a count is larger, or a "
      "case or a count of it is gone; 2 wrong usage or\ndata; 5 no record, or none of a case.");
  AddFiles(*command, *options);
  command->add_flag("--complete", options->complete,
                    "The results are to have every case that is recorded of their GPUs");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    if (const Status status = CompareNow(*options, context); !status.ok()) context.Fail(status);
  });
}

void AddAcceptCommand(CLI::App& perf, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      perf.add_subcommand("accept", "Record the counts of a case as they are now");
  command->add_option("CASE", options->pattern, "Case id; * stands for any text")->required();
  command->add_option("--reason", options->reason, "Why; kept in the record")->required();
  AddFiles(*command, *options);
  command->callback([options, &context] {
    if (const Status status = Accept(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
