#include "tools/commands/perf/nightly_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/import_bundle.h"
#include "src/perf/history/import_google_benchmark.h"
#include "src/perf/history/utc_time.h"
#include "tools/commands/finite_range.h"
#include "tools/commands/perf/case_report.h"
#include "tools/commands/perf/gate_runner.h"
#include "tools/commands/perf/night_counts.h"
#include "tools/commands/perf/nightly_report.h"
#include "tools/commands/perf/recorded_file.h"

namespace draftmark {
namespace {

struct Options {
  std::string database;
  std::string night;  // empty: the newest
  std::string architecture;
  std::vector<std::string> cases;
  std::vector<std::string> run;          // these measure the night first
  std::vector<std::string> again;        // these measure it once more where a case is slower
  std::vector<std::string> again_paths;  // or these did
  std::size_t runs = kNightRuns;
  std::string folder;
  std::string commit;
  double seconds = 1800;
  bool no_sentinel = false;
  bool no_record = false;
  bool allow_missing = false;
  std::string recorded;  // empty: of the checkout
  OutputFormat format = OutputFormat::kText;
};

// Reports of fresh processes, `options.runs` of each command in turn, as runs.
StatusOr<std::vector<RunRecord>> Measure(const Options& options,
                                         const std::vector<std::string>& commands, GateStage stage,
                                         const ImportFacts& facts, CommandContext& context) {
  std::vector<RunRecord> runs;
  std::random_device random;
  for (std::size_t i = 0; i < options.runs * commands.size(); ++i) {
    const std::string& command = commands[i % commands.size()];
    CommandRunner runner(
        {.base = command, .next = command, .folder = options.folder, .seconds = options.seconds},
        context.err);
    DM_ASSIGN_OR_RETURN(
        const BenchmarkReport report,
        runner.Run({.stage = stage, .side = GateSide::kNew, .number = i, .seed = random()}));
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(report.source));
    ImportFacts own = facts;
    own.number = static_cast<std::int64_t>(i / commands.size());
    DM_ASSIGN_OR_RETURN(RunRecord run, ImportGoogleBenchmark(text, report.source, own));
    runs.push_back(std::move(run));
  }
  return runs;
}

// What was measured elsewhere: reports, folders of them, or the bundle's results.
StatusOr<std::vector<RunRecord>> ReadReports(const std::vector<std::string>& paths,
                                             const ImportFacts& facts) {
  std::vector<RunRecord> runs;
  for (const std::string& path : paths) {
    StatusOr<std::vector<RunRecord>> found = ImportPath(path, facts);
    if (!found.ok()) {
      return InvalidArgumentError("--again-reports: " + std::string(found.status().message()));
    }
    for (RunRecord& run : *found) {
      if (!run.points.empty()) runs.push_back(std::move(run));
    }
  }
  return runs;
}

bool Wanted(const Options& options, const std::string& case_id) {
  return options.cases.empty() ||
         std::find(options.cases.begin(), options.cases.end(), case_id) != options.cases.end();
}

const Sentinel& SentinelNamed(const EnvironmentNights& nights, const std::string& name) {
  static const Sentinel kNone;
  return name == "copy" ? nights.copy : name == "gemm" ? nights.gemm : kNone;
}

EnvironmentReport JudgeEnvironment(const Options& options, Day night, EnvironmentNights nights) {
  EnvironmentReport report{.nights = std::move(nights), .cases = {}};
  report.time = report.nights.tonight.newest();
  for (const auto& [key, found] : report.nights.tonight.cases()) {
    if (!Wanted(options, key.first)) continue;
    Tonight tonight = found;
    tonight.day = night;
    CaseNights before = report.nights.before[key];
    before.case_id = key.first;
    before.schema = key.second;
    const std::string sentinel = report.nights.SentinelOf(key);
    report.cases.push_back(JudgeCaseNight(before, SentinelNamed(report.nights, sentinel), tonight));
    report.cases.back().sentinel = sentinel;
  }
  if (options.allow_missing) return report;
  for (const CaseKey& key : report.nights.GoneIn(night)) {
    if (!Wanted(options, key.first)) continue;
    report.cases.push_back(
        {.case_id = key.first,
         .schema = key.second,
         .reason = fmt::format("it was measured in the last {} nights, and not tonight (with "
                               "--allow-missing that is intended)",
                               kSteadyNights)});
  }
  return report;
}

// A case that was asked for and is not judged must not pass for one that is good.
Status CheckCases(const Options& options, const NightlyReport& report) {
  for (const std::string& name : options.cases) {
    const bool found = std::any_of(
        report.environments.begin(), report.environments.end(), [&](const EnvironmentReport& one) {
          return std::any_of(one.cases.begin(), one.cases.end(),
                             [&](const NightlyCase& c) { return c.case_id == name; });
        });
    if (!found) {
      return NotFoundError(fmt::format("--case: night {} does not have {}", report.night, name));
    }
  }
  return OkStatus();
}

// In time: counts are exact, and nothing of them is to be confirmed.
bool AnySlower(const NightlyReport& report) {
  return std::any_of(
      report.environments.begin(), report.environments.end(),
      [](const EnvironmentReport& one) { return NightlyVerdict(one.cases) == Verdict::kSlower; });
}

Status JudgeCounts(const Options& options, HistoryReader& reader, Day night,
                   NightlyReport& report) {
  RecordedCounts recorded;
  if (const StatusOr<std::string> path = FileOfCheckout(options.recorded, kRecordedCounts);
      path.ok()) {
    StatusOr<RecordedCounts> read = ReadRecordedCounts(*path);
    // NOT_FOUND would say that the history has no nights before this one.
    if (!read.ok()) return InvalidArgumentError(read.status().message());
    recorded = *std::move(read);
  }
  for (EnvironmentReport& environment : report.environments) {
    DM_ASSIGN_OR_RETURN(environment.counts,
                        CompareNightCounts(reader, environment.nights, night, recorded));
    std::erase_if(environment.counts, [&](const NightCount& count) {
      return !Wanted(options, count.key.first) ||
             (options.allow_missing && count.change == CountChangeKind::kMissing);
    });
  }
  return OkStatus();
}

// Alarms stay only where fresh runs of the same machine agree.
Status Confirm(const Options& options, const ImportFacts& facts, NightlyReport& report,
               CommandContext& context) {
  if (!AnySlower(report)) return OkStatus();
  std::vector<RunRecord> fresh;
  const std::vector<std::string>& commands = options.again.empty() ? options.run : options.again;
  if (!options.again_paths.empty()) {
    DM_ASSIGN_OR_RETURN(fresh, ReadReports(options.again_paths, facts));
    report.fresh = options.again_paths;
  } else if (!commands.empty()) {
    DM_ASSIGN_OR_RETURN(fresh, Measure(options, commands, GateStage::kConfirm, facts, context));
    report.fresh = {GateFolder(options.folder, GateStage::kConfirm, GateSide::kNew)};
  }
  for (EnvironmentReport& environment : report.environments) {
    NightRuns runs;
    for (const RunRecord& run : fresh) {
      if (run.environment == environment.nights.environment) runs.Add(run);
    }
    // Another word on the same night, which must be the newer one.
    if (!fresh.empty()) environment.time = std::max(environment.time + 1, runs.newest());
    for (NightlyCase& c : environment.cases) {
      const auto found = runs.cases().find({c.case_id, c.schema});
      const std::vector<double> values =
          found == runs.cases().end() ? std::vector<double>() : found->second.runs;
      const bool was_slower = c.verdict == Verdict::kSlower;
      ConfirmCaseNight(values, c.sentinel == "gemm" ? runs.gemm() : runs.copy(), c);
      if (!was_slower || !fresh.empty()) continue;
      c.reason = std::string(kUnconfirmed) + ": no fresh runs (--again)";
      report.unconfirmed = true;
    }
  }
  return OkStatus();
}

// The newest verdict is the one with the latest time. Where a clock went back, that of this night
// must still be newer than those of the nights before it.
Status OrderByNight(HistoryReader& reader, NightlyReport& report, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(const std::vector<GateRow> gates, reader.Gates());
  for (EnvironmentReport& environment : report.environments) {
    for (const GateRow& gate : gates) {
      if (gate.mode != "nightly" || gate.environment != environment.nights.id ||
          gate.night >= report.night || gate.time < environment.time) {
        continue;
      }
      context.err << fmt::format(
          "draftmark: warning: night {}: its runs say {}, and the verdicts of night {} are of {}: "
          "a "
          "clock went back; the order of the nights counts\n",
          report.night, FormatUtc(environment.time), gate.night, FormatUtc(gate.time));
      environment.time = gate.time + 1;
    }
  }
  return OkStatus();
}

Status Record(const NightlyReport& report, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(History history, History::Open(report.database));
  for (const EnvironmentReport& environment : report.environments) {
    const StatusOr<Added> added = history.Add(NightlyRecord(report, environment));
    // Judged again with another outcome, as when fresh runs differ: the first one stays.
    if (!added.ok() && added.status().code() != StatusCode::kFailedPrecondition) {
      return added.status();
    }
    if (!added.ok()) {
      context.err << "draftmark: warning: " << added.status().message() << "\n";
    }
  }
  return OkStatus();
}

Status MeasureNight(const Options& options, const ImportFacts& facts, CommandContext& context) {
  if (options.run.empty()) return OkStatus();
  DM_ASSIGN_OR_RETURN(const std::vector<RunRecord> runs,
                      Measure(options, options.run, GateStage::kFirst, facts, context));
  DM_ASSIGN_OR_RETURN(History history, History::Open(options.database));
  for (const RunRecord& run : runs) DM_RETURN_IF_ERROR(history.Add(run).status());
  return OkStatus();
}

StatusOr<Day> NightToJudge(const Options& options, HistoryReader& reader) {
  if (options.night.empty()) return NewestNight(reader, options.architecture);
  return static_cast<Day>(*DayOfNight(options.night));
}

Status JudgeIt(Options options, CommandContext& context) {
  if (!options.night.empty() && !DayOfNight(options.night)) {
    return InvalidArgumentError(
        fmt::format("--night: expected a day as 2026-11-30, found \"{}\"", options.night));
  }
  if (options.folder.empty()) {
    options.folder = fmt::format("perf_nightly/{}", std::random_device()());
  }
  const ImportFacts facts{.night = options.night,
                          .commit = options.commit,
                          .session = options.night.empty() ? "" : "nightly-" + options.night};
  DM_RETURN_IF_ERROR(MeasureNight(options, facts, context));
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(options.database));
  DM_ASSIGN_OR_RETURN(const Day night, NightToJudge(options, reader));
  DM_ASSIGN_OR_RETURN(std::vector<EnvironmentNights> environments,
                      ReadNights(reader, options.architecture, night, !options.no_sentinel));
  NightlyReport report{.night = NightOfDay(night),
                       .database = options.database,
                       .environments = {},
                       .with_sentinel = !options.no_sentinel};
  if (!options.recorded.empty()) report.flags += " --recorded " + ShellWord(options.recorded);
  if (options.allow_missing) report.flags += " --allow-missing";
  for (EnvironmentNights& nights : environments) {
    report.environments.push_back(JudgeEnvironment(options, night, std::move(nights)));
  }
  DM_RETURN_IF_ERROR(CheckCases(options, report));
  DM_RETURN_IF_ERROR(JudgeCounts(options, reader, night, report));
  ImportFacts again = facts;
  if (again.commit.empty()) again.commit = report.environments[0].nights.tonight.commit();
  DM_RETURN_IF_ERROR(Confirm(options, again, report, context));
  DM_RETURN_IF_ERROR(OrderByNight(reader, report, context));
  // Said before it is recorded, as by the gate.
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, NightlyJson(report));
  } else {
    context.out << NightlyText(report);
  }
  context.out << std::flush;
  const int code = NightlyExitCode(report);
  context.exit_code = code;
  // One case alone is a look at it, and not the night's verdict.
  if (options.no_record || !options.cases.empty()) return OkStatus();
  if (const Status recorded = Record(report, context); !recorded.ok()) {
    context.Fail(recorded);
    if (code == kPerfSlower) context.exit_code = code;
  }
  return OkStatus();
}

Status Nightly(const Options& options, CommandContext& context) {
  Status status = JudgeIt(options, context);
  if (status.code() != StatusCode::kNotFound) return status;
  context.Fail(status.Annotated("no baseline"));
  context.exit_code = kPerfNoBaseline;
  return OkStatus();
}

void AddOptions(CLI::App& command, Options& options) {
  command.add_option("--db", options.database, "The history")->required()->type_name("FILE");
  command.add_option("--night", options.night, "YYYY-MM-DD (default: the newest)");
  command.add_option("--arch", options.architecture, "Only this architecture, as sm_90");
  command.add_option("--case", options.cases, "Judges only the case of this id; records nothing")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--run", options.run,
                  "Measures the night first, and adds it to the history; as perf gate's --new; "
                  "may be given again for more programs")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("CMD");
  command.add_option("--runs", options.runs, "Processes of each CMD")
      ->check(CLI::Range(3, 100))
      ->capture_default_str();
  CLI::Option* const again =
      command
          .add_option("--again", options.again,
                      "Measures once more where a case is slower (default: the CMD of --run); may "
                      "be given again")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->type_name("CMD");
  command
      .add_option("--again-reports", options.again_paths,
                  "Such fresh runs that were made elsewhere: reports, folders of them, or results "
                  "of the bundle's `run bench`")
      ->type_name("PATH...")
      ->excludes(again);
  command.add_option("--commit", options.commit, "What was measured, where reports do not say it");
  command
      .add_option("--out", options.folder, "Folder for the reports (default: perf_nightly/NUMBER)")
      ->type_name("DIR");
  command.add_option("--timeout", options.seconds, "Seconds after which a process is killed")
      ->check(FiniteRange(0.001, 1e6))
      ->capture_default_str();
  command.add_flag("--no-sentinel", options.no_sentinel,
                   "Times as they are, not over the time of a copy, or a GEMM, in the same night");
  command
      .add_option("--recorded", options.recorded,
                  "Counts that may be as large (default: benchmarks/recorded/counts.json of the "
                  "checkout)")
      ->type_name("FILE");
  command.add_flag(
      "--allow-missing", options.allow_missing,
      "Cases and counts that earlier nights have and this one does not are no finding");
  command.add_flag("--no-record", options.no_record, "Adds no verdict to the history");
  AddFormatOption(command, options.format);
}

}  // namespace

void AddNightlyCommand(CLI::App& perf, CommandContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      perf.add_subcommand("nightly", "Judge a night of the history by the nights before it");
  command->footer(
      "A case is slower if the median of its runs is further above the median of the last 30 "
      "nights than 4 x 1.4826 x\nMAD and 1.5 %, and fresh runs of the same night say so too. Exact "
      "counts may not be larger than in the night\nbefore, unless that is recorded (perf accept). "
      "Changes of level are told beside. Exit codes: 0 same or faster; 1 a\ncase is slower, or a "
      "count larger; 2 wrong usage or data; 3 a case is unclear (slower, not confirmed), or one\n"
      "or a count of it is missing; 4 a case is invalid; 5 no case has 10 nights before this one. "
      "1 goes before 4, and 4\nbefore 3.");
  AddOptions(*command, *options);
  command->callback([options, &context] {
    if (const Status status = Nightly(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
