#include "tools/commands/perf/gate_command.h"

#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/perf/gate.h"
#include "src/perf/history/history.h"
#include "tools/commands/finite_range.h"
#include "tools/commands/perf/aa_history.h"
#include "tools/commands/perf/case_report.h"
#include "tools/commands/perf/gate_report.h"
#include "tools/commands/perf/gate_runner.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

struct Options {
  GateCommands commands;
  std::vector<std::string> cases;
  std::uint64_t seed = 0;
  bool folder_given = false;
  bool allow_missing = false;
  std::string database;
  std::string base_commit, next_commit;
  OutputFormat format = OutputFormat::kText;
};

std::string CommandOf(const Options& options) {
  std::string command =
      fmt::format("draftmark perf gate --base {} --new {} --seed {}",
                  ShellWord(options.commands.base), ShellWord(options.commands.next), options.seed);
  // The folder has the reports by then: the same place, and the next name there.
  if (options.folder_given) {
    command += " --out " + ShellWord(FreeFolder(options.commands.folder));
  }
  if (options.commands.seconds != kGateSeconds) {
    command += fmt::format(" --timeout {}", options.commands.seconds);
  }
  if (!options.database.empty()) command += " --db " + ShellWord(options.database);
  if (options.allow_missing) command += " --allow-missing";
  for (const std::string& name : options.cases) command += " " + ShellWord("--case=" + name);
  return command;
}

Status Record(const Options& options, const GateReport& report, CommandContext& context) {
  if (options.database.empty()) return OkStatus();
  DM_ASSIGN_OR_RETURN(History history, History::Open(options.database));
  return history
      .Add(GateRecordOf(report, TimeOf(report.result.context, context.clock), options.base_commit,
                        options.next_commit))
      .status();
}

Status RunIt(Options options, CommandContext& context) {
  options.folder_given = !options.commands.folder.empty();
  if (!options.folder_given) {
    options.commands.folder = FreeFolder(fmt::format("perf_gate/{}", options.seed));
  }
  AaBook book;
  if (!options.database.empty()) {
    DM_ASSIGN_OR_RETURN(book, AaBook::Read(options.database, context.clock));
  }
  CommandRunner runner(options.commands, context.err);
  runner.UseAa(book);
  DM_RETURN_IF_ERROR(runner.Prepare());
  StatusOr<GateResult> result = RunGate({.seed = options.seed, .cases = options.cases}, runner);
  if (!result.ok()) {
    if (result.status().code() != StatusCode::kNotFound) return result.status();
    context.Fail(result.status());
    context.exit_code = kPerfNoBaseline;
    return OkStatus();
  }
  const std::string architecture = EnvironmentOf(result->context).architecture;
  const MissingInNew missing =
      options.allow_missing ? MissingInNew() : MissingOf(CasesOf(*result), result->only_base);
  result->verdict = WithMissing(result->verdict, missing);
  const GateReport report{.result = *std::move(result),
                          .base = options.commands.base,
                          .next = options.commands.next,
                          .folder = options.commands.folder,
                          .seed = options.seed,
                          .command = CommandOf(options),
                          .note = book.Note(architecture),
                          .missing = missing,
                          .advisory = book.Advisory(architecture)};
  // Said before it is recorded: whatever becomes of the history, the runs were made.
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, GateJson(report));
  } else {
    context.out << GateText(report);
  }
  context.out << std::flush;
  const int code = GateExitCode(report);
  const Status recorded =
      Record(options, report, context).Annotated("the verdicts are not in the history");
  if (!recorded.ok()) context.Fail(recorded);
  if (recorded.ok() || code == kPerfSlower) context.exit_code = code;
  return OkStatus();
}

}  // namespace

void AddGateCommand(CLI::App& perf, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      perf.add_subcommand("gate", "Run two builds' benchmarks in turn and judge the new one");
  command->footer(
      "CMD is a line for sh that runs a program of Google Benchmark; --benchmark_out and flags "
      "that "
      "select and\nshuffle cases are put behind it. Where {out} is in CMD, nothing is: it stands "
      "for the report's path and {flags}\nfor the flags, as in \"bench --benchmark_format=json "
      "{flags} > {out}\". 20 processes in the order A B B A, up to 12\nmore of noisy cases, 12 of "
      "unclear ones and 20 to confirm slower ones; all reports are kept.\n"
      "Exit codes: 0 same or faster; 1 a case is slower, and fresh runs confirm it, or an exact "
      "count is larger; 2 wrong\nusage, a crash, a hang or wrong data; 3 a case is unclear, or one "
      "of base or "
      "a count of it is not in new; 4 a "
      "case is invalid (too noisy, "
      "disturbed, or its benchmark failed); 5 no\nbaseline program, or no case in common. 1 goes "
      "before 4, and 4 before 3.");
  command->add_option("--base", options->commands.base, "Command of the old build")
      ->required()
      ->type_name("CMD");
  command->add_option("--new", options->commands.next, "Command of the new build")
      ->required()
      ->type_name("CMD");
  command
      ->add_option(
          "--out", options->commands.folder,
          "Folder for the reports (default: perf_gate/SEED, or SEED.2 where that is there)")
      ->type_name("DIR");
  command->add_option("--case", options->cases, "Runs and judges only the case of this name")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--timeout", options->commands.seconds,
                   "Seconds after which a process is killed (default: 1800)")
      ->check(FiniteRange(0.001, 1e6))
      ->type_name("SECONDS");
  command
      ->add_option("--db", options->database,
                   "The history: floors by its A/A runs (perf aa), and the verdicts go there")
      ->type_name("FILE");
  command->add_option("--base-commit", options->base_commit, "For the history");
  command->add_option("--new-commit", options->next_commit, "For the history");
  CLI::Option* const seed = AddU64Option(*command, "--seed", options->seed,
                                         "of the order of cases in each run (default: random)");
  command->add_flag("--allow-missing", options->allow_missing,
                    "Cases and counts of base that new does not have are no finding");
  AddFormatOption(*command, options->format);
  command->callback([options, seed, &context] {
    if (seed->count() == 0) options->seed = std::random_device()();
    if (const Status status = RunIt(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
