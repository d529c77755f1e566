#include "tools/commands/perf/aa_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/perf/aa_quality.h"
#include "src/perf/gate.h"
#include "src/perf/history/history.h"
#include "src/perf/history/import_google_benchmark.h"
#include "tools/commands/finite_range.h"
#include "tools/commands/perf/aa_history.h"
#include "tools/commands/perf/case_report.h"
#include "tools/commands/perf/gate_runner.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

// Both are the same build.
const GateNames kSides = {.base = "A", .next = "B"};

struct Options {
  std::string run;
  std::uint64_t gates = 1;
  std::vector<std::string> cases;
  std::string folder;
  double seconds = kGateSeconds;
  std::string database;
  std::string commit;
  std::uint64_t seed = 0;
  OutputFormat format = OutputFormat::kText;
};

struct Report {
  AaTally tally;
  ReportContext context;  // of the last gate
  AaCounts days;          // of the architecture's last days, these included; or these alone
  std::string advisory;
  std::string command;
};

// `run` stands for the command of the build.
std::string CommandOf(const Options& options, const std::string& run) {
  std::string command = fmt::format("draftmark perf aa --run {} --gates {} --seed {}",
                                    ShellWord(run), options.gates, options.seed);
  if (options.seconds != kGateSeconds) command += fmt::format(" --timeout {}", options.seconds);
  for (const std::string& name : options.cases) command += " " + ShellWord("--case=" + name);
  return command;
}

Status Measure(const Options& options, Report& report, CommandContext& context) {
  for (std::uint64_t i = 0; i < options.gates; ++i) {
    CommandRunner runner({.base = options.run,
                          .next = options.run,
                          .folder = fmt::format("{}/{}", options.folder, i),
                          .seconds = options.seconds,
                          .names = kSides,
                          .missing = "program"},
                         context.err);
    DM_RETURN_IF_ERROR(runner.Prepare());
    DM_ASSIGN_OR_RETURN(
        const GateResult result,
        RunGate({.seed = BitsAt(options.seed, i), .cases = options.cases, .names = kSides},
                runner));
    report.tally.Add(result);
    report.context = result.context;
  }
  return OkStatus();
}

Status Record(const Options& options, Report& report, CommandContext& context) {
  report.days = report.tally.total();
  const Environment environment = EnvironmentOf(report.context);
  if (options.database.empty()) {
    if (IsNoisy(report.days)) report.advisory = "too many false alarms in these gates";
    return OkStatus();
  }
  const auto told = report.context.find("commit");
  AaRecord record{.time = TimeOf(report.context, context.clock),
                  .environment = environment,
                  .commit = !options.commit.empty()        ? options.commit
                            : told != report.context.end() ? told->second
                                                           : "",
                  // Commands hold paths of this machine, and records are published.
                  .command = CommandOf(options, "BENCH")};
  for (const auto& [name, one] : report.tally.cases()) {
    record.results.push_back({.case_id = CaseIdOfBenchmark(name),
                              .comparisons = one.counts.comparisons,
                              .false_alarms = one.counts.alarms,
                              .unclear = one.counts.unclear,
                              .invalid = one.counts.invalid,
                              .spread = one.spread(),
                              .detectable = one.detectable_shift()});
  }
  DM_ASSIGN_OR_RETURN(const AaBook before, AaBook::Read(options.database, context.clock));
  const AaCounts earlier = before.Counts(environment.architecture);
  report.days.comparisons += earlier.comparisons;
  report.days.alarms += earlier.alarms;
  record.advisory = IsNoisy(report.days);
  DM_ASSIGN_OR_RETURN(History history, History::Open(options.database));
  DM_RETURN_IF_ERROR(history.Add(record).status());
  DM_ASSIGN_OR_RETURN(const AaBook now, AaBook::Read(options.database, context.clock));
  report.advisory = now.Advisory(environment.architecture);
  return OkStatus();
}

int ExitCodeOf(const Report& report) {
  if (report.tally.total().comparisons == 0) return kPerfInvalid;
  return report.advisory.empty() ? kPerfGood : kPerfSlower;
}

std::string ShiftText(double shift) {
  return shift > 0 ? fmt::format("{:.1f} %", shift * 100) : "nothing";
}

std::string SpreadText(const AaCase& one) {
  if (!one.known()) return "spread unknown: no comparison has a verdict";
  return fmt::format("spread {:.2f} %, floor {:.2f} %, detects {} with 95 % power",
                     one.spread() * 100, FloorOf(one.spread()) * 100,
                     ShiftText(one.detectable_shift()));
}

std::string Text(const Report& report) {
  std::string text;
  for (const auto& [name, one] : report.tally.cases()) {
    text += fmt::format(
        "{}: {} comparisons, {} false alarms ({} confirmed), {} unclear, {} invalid; {}\n", name,
        one.counts.comparisons, one.counts.alarms, one.counts.confirmed, one.counts.unclear,
        one.counts.invalid, SpreadText(one));
  }
  const AaCounts total = report.tally.total();
  text += fmt::format(
      "{} comparisons of {} cases: {} false alarms, {:.1f} per 1,000; {} after confirmation\n",
      total.comparisons, report.tally.cases().size(), total.alarms, total.PerThousand(),
      total.confirmed);
  if (report.days.comparisons > total.comparisons) {
    text +=
        fmt::format("last {} days: {} comparisons, {} false alarms, {:.1f} per 1,000\n", kAaDays,
                    report.days.comparisons, report.days.alarms, report.days.PerThousand());
  }
  if (!report.advisory.empty()) text += "the gate is advisory here: " + report.advisory + "\n";
  return text + "reproduce: " + report.command + "\n";
}

OrderedJson CountsJson(const AaCounts& counts) {
  return {{"comparisons", counts.comparisons},   {"false_alarms", counts.alarms},
          {"confirmed", counts.confirmed},       {"faster", counts.faster},
          {"unclear", counts.unclear},           {"invalid", counts.invalid},
          {"per_thousand", counts.PerThousand()}};
}

OrderedJson ReportJson(const Report& report) {
  OrderedJson json = {{"schema_version", 1},
                      {"exit_code", ExitCodeOf(report)},
                      {"advisory", report.advisory},
                      {"total", CountsJson(report.tally.total())},
                      {"days", CountsJson(report.days)},
                      {"cases", OrderedJson::array()}};
  for (const auto& [name, one] : report.tally.cases()) {
    OrderedJson c = {{"name", name}};
    c.update(CountsJson(one.counts));
    c["spread"] = one.known() ? OrderedJson(one.spread()) : OrderedJson(nullptr);
    c["floor"] = one.known() ? OrderedJson(FloorOf(one.spread())) : OrderedJson(nullptr);
    if (one.detectable_shift() > 0) c["detectable_shift"] = one.detectable_shift();
    json["cases"].push_back(std::move(c));
  }
  json["reproduce"] = report.command;
  return json;
}

Status RunIt(Options options, CommandContext& context) {
  if (options.folder.empty()) options.folder = FreeFolder(fmt::format("perf_aa/{}", options.seed));
  Report report;
  report.command = CommandOf(options, options.run);
  if (Status status = Measure(options, report, context); !status.ok()) {
    if (status.code() != StatusCode::kNotFound) return status;
    context.Fail(status);
    context.exit_code = kPerfNoBaseline;
    return OkStatus();
  }
  // What was measured is said in any case; what earlier gates say is not known then.
  Status recorded = Record(options, report, context);
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, ReportJson(report));
  } else {
    context.out << Text(report);
  }
  context.out << std::flush;
  context.exit_code = ExitCodeOf(report);
  return recorded;
}

}  // namespace

void AddAaCommand(CLI::App& perf, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      perf.add_subcommand("aa", "Run gates of a build against itself: how good is the gate here?");
  command->footer(
      "Prints false alarms per 1,000 comparisons and the shift that each case detects. With --db "
      "they are recorded, and\n`perf gate --db` then takes no case's floor below 4 x its spread, "
      "and "
      "fails nothing on an architecture with more than\n2 false alarms per 1,000 in 30 days. Exit "
      "codes: 0; 1 the gate is advisory here; 2 wrong usage, a crash or wrong data;\n4 no "
      "comparison has a verdict; 5 no program.");
  command->add_option("--run", options->run, "Command of the build; as perf gate's --base")
      ->required()
      ->type_name("CMD");
  AddU64Option(*command, "--gates", options->gates, "How many gates (default: 1)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--case", options->cases, "Only the case of this name")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--out", options->folder,
                   "Folder for the reports (default: perf_aa/SEED, or SEED.2 where that is there)")
      ->type_name("DIR");
  command->add_option("--timeout", options->seconds, "Seconds after which a process is killed")
      ->check(FiniteRange(0.001, 1e6))
      ->capture_default_str();
  command->add_option("--db", options->database, "The history that keeps the results")
      ->type_name("FILE");
  command->add_option("--commit", options->commit,
                      "What was measured, where reports do not say it");
  CLI::Option* const seed = AddU64Option(*command, "--seed", options->seed,
                                         "of the order of cases in each run (default: random)");
  AddFormatOption(*command, options->format);
  command->callback([options, seed, &context] {
    if (seed->count() == 0) options->seed = std::random_device()();
    if (const Status status = RunIt(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
