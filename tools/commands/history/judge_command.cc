#include "tools/commands/history/judge_command.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

#include "src/base/json.h"
#include "src/perf/history/import_bundle.h"
#include "tools/commands/history/history_options.h"

namespace draftmark {
namespace {

// What stands for facts that only a history needs.
constexpr char kAny[] = "unknown";

// A test that stands for a program without results; its suite has the problem.
constexpr char kWholeProgram[] = "program";

struct JudgeOptions {
  std::vector<std::string> paths;
  OutputFormat format = OutputFormat::kText;
};

std::string Line(const std::string& who, const std::string& what) {
  return what.empty() ? who : who + ": " + what;
}

void AddSuites(const RunRecord& run, ConformanceJudgement& judged) {
  const bool bench = run.program == kBenchProgram;
  for (const SuiteResult& suite : run.suites) {
    if (!suite.problem.empty()) judged.broken.push_back(Line(suite.name, suite.problem));
    if (bench || suite.failed == 0 || (!suite.problem.empty() && suite.failed == 1)) continue;
    judged.failures.push_back(fmt::format("{}: {} failed, {} passed, {} skipped", suite.name,
                                          suite.failed, suite.passed, suite.skipped));
  }
}

// The report of a bundle has what draftmark verify found once more, as tests.
void AddTests(const RunRecord& run, ConformanceJudgement& judged) {
  std::set<std::string> told;
  for (const TestResult& test : run.tests) {
    if (test.status == "skipped" || test.test == kWholeProgram) continue;
    told.insert(test.test);
    (test.status == "error" ? judged.broken : judged.failures)
        .push_back(Line(test.suite + " " + test.test, test.message));
  }
  for (const ConformanceResult& result : run.conformance) {
    if (!IsConformanceFailure(result.status) || told.contains(result.case_id)) continue;
    std::string who = result.case_id + " " + result.backend + " " + result.precision;
    if (!result.variant.empty()) who += " " + result.variant;
    judged.failures.push_back(Line(who, result.signature.empty()
                                            ? result.status
                                            : result.status + " (" + result.signature + ")"));
  }
}

OrderedJson PathJson(const std::string& path, const ConformanceJudgement& judged) {
  return {{"path", path},
          {"checked", judged.checked},
          {"failures", judged.failures},
          {"broken", judged.broken}};
}

std::string PathText(const std::string& path, const ConformanceJudgement& judged) {
  std::string text;
  for (const std::string& line : judged.failures) text += "FAIL " + line + "\n";
  for (const std::string& line : judged.broken) text += "BROKEN " + line + "\n";
  text += path + ": ";
  if (!judged.checked && judged.broken.empty()) return text + "no conformance results\n";
  return text + fmt::format("{} failures, {} programs broken\n", judged.failures.size(),
                            judged.broken.size());
}

Status Judge(const JudgeOptions& options, CommandContext& context) {
  const ImportFacts facts{.time = 1, .commit = kAny, .environment = {.architecture = kAny}};
  std::vector<std::pair<std::string, ConformanceJudgement>> all;
  std::size_t failed = 0, broken = 0;
  bool checked = false;
  for (const std::string& path : options.paths) {
    DM_ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, ImportPath(path, facts));
    const ConformanceJudgement& judged = all.emplace_back(path, JudgeConformance(runs)).second;
    failed += judged.failures.size();
    broken += judged.broken.size();
    checked = checked || judged.checked;
  }
  if (options.format == OutputFormat::kJson) {
    OrderedJson json = {{"schema_version", 1},
                        {"failed", failed},
                        {"broken", broken},
                        {"checked", checked},
                        {"paths", OrderedJson::array()}};
    for (const auto& [path, judged] : all) json["paths"].push_back(PathJson(path, judged));
    PrintJson(context.out, json);
  } else {
    for (const auto& [path, judged] : all) context.out << PathText(path, judged);
  }
  context.exit_code = failed > 0   ? kExitMismatch
                      : broken > 0 ? kExitError
                      : !checked   ? kNothingChecked
                                   : kExitGood;
  return OkStatus();
}

}  // namespace

ConformanceJudgement JudgeConformance(const std::vector<RunRecord>& runs) {
  ConformanceJudgement judged;
  for (const RunRecord& run : runs) {
    AddSuites(run, judged);
    if (run.program == kBenchProgram) continue;
    AddTests(run, judged);
    judged.checked = judged.checked || !run.conformance.empty() || !run.suites.empty();
  }
  return judged;
}

void AddJudgeCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<JudgeOptions>();
  CLI::App* const command =
      history.add_subcommand("judge", "Say what results report of conformance; changes nothing");
  command->footer(
      "PATHs are as of import: results of the bundle, or a report of draftmark verify. Exit codes: "
      "0 good; 1 something\nfailed; 2 wrong usage or data, or a program left no results; 3 there "
      "are no conformance results. 1 goes before 2.");
  command->add_option("PATH", options->paths, "Reports, or folders of them")->required();
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Judge(*options, context); });
}

}  // namespace draftmark
