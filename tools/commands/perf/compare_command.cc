#include "tools/commands/perf/compare_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/perf/perf_comparison.h"
#include "tools/commands/finite_range.h"
#include "tools/commands/one_of.h"
#include "tools/commands/perf/compare_files.h"
#include "tools/commands/perf/compare_report.h"

namespace draftmark {
namespace {

struct CompareOptions {
  std::string base, next;                           // positional
  std::vector<std::string> base_paths, next_paths;  // --base, --new
  std::vector<std::string> cases;
  Look look = Look::kFirst;
  double floor = kFloor;
  std::string database;
  bool allow_missing = false;
  OutputFormat format = OutputFormat::kText;
};

// Both sides as lists, whichever way they were given.
Status TakeSides(CompareOptions& options) {
  const bool positional = !options.base.empty() && !options.next.empty();
  const bool named = !options.base_paths.empty() && !options.next_paths.empty();
  const bool any_positional = !options.base.empty() || !options.next.empty();
  const bool any_named = !options.base_paths.empty() || !options.next_paths.empty();
  if ((positional && any_named) || (named && any_positional) || positional == named) {
    return InvalidArgumentError(
        "perf compare: expected BASE and NEW, or --base FILE... and --new FILE...");
  }
  if (positional) {
    options.base_paths = {options.base};
    options.next_paths = {options.next};
  }
  return OkStatus();
}

std::string CommandOf(const CompareOptions& options) {
  std::string command = "draftmark perf compare";
  const bool lists = options.base_paths.size() > 1 || options.next_paths.size() > 1;
  if (lists) command += " --base";
  for (const std::string& path : options.base_paths) command += " " + ShellWord(path);
  if (lists) command += " --new";
  for (const std::string& path : options.next_paths) command += " " + ShellWord(path);
  if (options.look == Look::kSecond) command += " --look second";
  if (!options.database.empty()) command += " --db " + ShellWord(options.database);
  if (options.floor > kFloor) command += fmt::format(" --floor {}", options.floor);
  if (options.allow_missing) command += " --allow-missing";
  return command;
}

void WarnIfAssumed(const char* name, const PerfSide& side, const std::vector<std::string>& files,
                   CommandContext& context) {
  if (!side.assumed) return;
  context.err << fmt::format(
      "draftmark: warning: {} is the single file {}: its repetitions count as runs (runs: "
      "assumed), "
      "which they are not; give a file for each process\n",
      name, files.front());
}

// NOT_FOUND if there is nothing to compare.
Status CheckCommon(const CompareOptions& options, const PerfComparison& compared) {
  for (const std::string& name : options.cases) {
    if (std::none_of(compared.cases.begin(), compared.cases.end(),
                     [&](const PerfCase& c) { return c.name == name; })) {
      return NotFoundError(fmt::format("--case: BASE and NEW do not both have {}", name));
    }
  }
  if (compared.cases.empty()) {
    return NotFoundError(
        fmt::format("BASE and NEW have no case in common: {} only in BASE, {} only "
                    "in NEW",
                    compared.only_base.size(), compared.only_next.size()));
  }
  return OkStatus();
}

// Sets the exit code, except for errors that are returned.
Status Compare(CompareOptions options, CommandContext& context) {
  DM_RETURN_IF_ERROR(TakeSides(options));
  const auto no_baseline = [&](const Status& status) {
    context.Fail(status);
    context.exit_code = kPerfNoBaseline;
    return OkStatus();
  };
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> next_files,
                      FindRuns(options.next_paths, options.database));
  const StatusOr<std::vector<std::string>> base_files =
      FindRuns(options.base_paths, options.database);
  if (!base_files.ok()) {
    if (base_files.status().code() != StatusCode::kNotFound) return base_files.status();
    return no_baseline(base_files.status().Annotated("no baseline"));
  }
  RunReader reader(options.database);
  DM_ASSIGN_OR_RETURN(const std::vector<BenchmarkReport> base_reports, reader.Read(*base_files));
  DM_ASSIGN_OR_RETURN(const std::vector<BenchmarkReport> next_reports, reader.Read(next_files));
  DM_ASSIGN_OR_RETURN(const PerfSide base, CollectSide(base_reports));
  DM_ASSIGN_OR_RETURN(const PerfSide next, CollectSide(next_reports));
  CompareReport report{.compared = {},
                       .options = {.look = options.look, .floor = options.floor},
                       .base_assumed = base.assumed,
                       .next_assumed = next.assumed,
                       .base_files = base.reports,
                       .next_files = next.reports,
                       .command = CommandOf(options)};
  DM_ASSIGN_OR_RETURN(report.compared, ComparePerf(base, next, report.options, options.cases));
  if (const Status common = CheckCommon(options, report.compared); !common.ok()) {
    return no_baseline(common);
  }
  if (!options.allow_missing) {
    report.missing = MissingOf(report.compared.cases, report.compared.only_base);
    report.compared.verdict = WithMissing(report.compared.verdict, report.missing);
  }
  WarnIfAssumed("BASE", base, *base_files, context);
  WarnIfAssumed("NEW", next, next_files, context);
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, CompareJson(report));
  } else {
    context.out << CompareText(report);
  }
  context.exit_code = PerfExitCodeOf(report.compared.verdict);
  return OkStatus();
}

}  // namespace

void AddCompareCommand(CLI::App& perf, CommandContext& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* const command =
      perf.add_subcommand("compare", "Judge two sets of Google Benchmark reports, case by case");
  command->footer(
      "A side is a JSON file, a folder of them, or, by --base and --new, a list of both. Each file "
      "is "
      "one run\n(one process); its repetitions are that run's samples. 10 runs a side are usual, 7 "
      "the fewest.\n"
      "Exact counts that the reports have (launches, allocations, peak_bytes, device_bytes, "
      "memory_...) may not grow.\n"
      "Exit codes: 0 same or faster; 1 a case is slower, or a count is larger; 2 wrong usage or "
      "data; 3 a case is\nunclear, or a case or count of BASE is not in NEW; 4 a case is invalid "
      "(too noisy, or its benchmark failed); 5 no "
      "baseline, or no case in common. 1 goes\nbefore 4, and 4 before 3.");
  command->add_option("BASE", options->base, "Report or folder of the old build");
  command->add_option("NEW", options->next, "Report or folder of the new build");
  command->add_option("--base", options->base_paths, "Reports or folders of the old build");
  command->add_option("--new", options->next_paths, "Reports or folders of the new build");
  command
      ->add_option("--db", options->database,
                   "A history; then a side may also name its runs, by id or how that begins")
      ->type_name("FILE");
  command->add_option("--case", options->cases, "Compares only the case of this name")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--look", options->look,
                   "second where runs were added to an unclear first look: needs a smaller p")
      ->transform(OneOf<Look>({{"first", Look::kFirst}, {"second", Look::kSecond}}))
      ->default_str("first");
  command
      ->add_option("--floor", options->floor,
                   "least shift that counts, a share; above 0.015 where A/A runs spread")
      ->check(FiniteRange(kFloor, 1.0))
      ->type_name("SHARE")
      ->default_str("0.015");
  command->add_flag("--allow-missing", options->allow_missing,
                    "Cases and counts of BASE that NEW does not have are no finding");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    if (const Status status = Compare(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
