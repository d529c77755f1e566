#include "src/perf/history/import_bundle.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "src/base/json.h"
#include "src/perf/history/import_google_benchmark.h"
#include "src/perf/history/import_published.h"
#include "src/perf/history/import_verify.h"
#include "src/perf/history/junit_reader.h"
#include "src/perf/history/result_folders.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

constexpr std::int64_t kSummaryVersion = 1;
constexpr char kUnknown[] = "unknown";  // what the machine did not tell

std::string Unless(const std::string& text, std::string_view unknown) {
  return text == unknown ? "" : text;
}

// What the summary says of all runs of the bundle, and of its programs.
struct Summary {
  ImportFacts facts;
  std::string text, command, cublaslt;
  std::vector<SuiteResult> suites;
};

Status ReadPrograms(const JsonObject& root, Summary& summary) {
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> programs, root.ObjectList("programs"));
  for (const JsonObject& program : programs) {
    SuiteResult suite;
    DM_ASSIGN_OR_RETURN(const std::string name, program.String("name"));
    suite.name = CleanText(name);
    DM_ASSIGN_OR_RETURN(suite.passed, program.I64("passed"));
    DM_ASSIGN_OR_RETURN(suite.failed, program.I64("failed"));
    DM_ASSIGN_OR_RETURN(suite.skipped, program.I64("skipped"));
    DM_ASSIGN_OR_RETURN(const std::string problem, program.StringOr("problem", ""));
    suite.problem = CleanText(problem);
    summary.suites.push_back(std::move(suite));
  }
  return OkStatus();
}

StatusOr<Summary> ReadSummary(const std::string& path, FileSystem& files) {
  Summary summary;
  DM_ASSIGN_OR_RETURN(summary.text, ReadTextFile(path, files));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(summary.text, path));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, path));
  DM_ASSIGN_OR_RETURN(const std::int64_t version, root.I64("schema_version"));
  if (version != kSummaryVersion) {
    return root.TypeError("schema_version", fmt::format("{}", kSummaryVersion));
  }
  DM_ASSIGN_OR_RETURN(summary.command, root.String("command"));
  ImportFacts& facts = summary.facts;
  DM_ASSIGN_OR_RETURN(const std::string date, root.String("date"));
  facts.time = ParseUtc(date);
  if (!facts.time) return root.TypeError("date", "a time as 2026-11-30T02:24:17Z");
  DM_ASSIGN_OR_RETURN(facts.commit, root.String("commit"));
  DM_ASSIGN_OR_RETURN(const std::string gpu, root.String("gpu"));
  DM_ASSIGN_OR_RETURN(const std::string capability, root.String("compute_capability"));
  DM_ASSIGN_OR_RETURN(const std::string driver, root.String("driver"));
  DM_ASSIGN_OR_RETURN(const std::string cuda, root.String("toolkit_cuda"));
  DM_ASSIGN_OR_RETURN(summary.cublaslt, root.StringOr("cublaslt", ""));
  facts.environment.gpu = Unless(CleanText(gpu), kUnknown);
  facts.environment.architecture = ArchitectureOf(capability);
  if (facts.environment.architecture.empty() && capability != kUnknown) {
    return root.TypeError("compute_capability", "a number as 9.0");
  }
  facts.environment.driver = Unless(CleanText(driver), kUnknown);
  facts.environment.cuda = Unless(CleanText(cuda), kUnknown);
  // The programs of one call belong together.
  facts.session = fmt::format("bundle {} {}", summary.command, FormatUtc(*facts.time));
  DM_RETURN_IF_ERROR(ReadPrograms(root, summary));
  return summary;
}

// The user's facts before the summary's.
ImportFacts Merged(const ImportFacts& facts, const ImportFacts& found) {
  ImportFacts merged = found;
  const auto override_by = [](const std::string& given, std::string& value) {
    if (!given.empty()) value = given;
  };
  if (facts.time) merged.time = facts.time;
  if (facts.number) merged.number = facts.number;
  override_by(facts.night, merged.night);
  override_by(facts.commit, merged.commit);
  override_by(facts.session, merged.session);
  override_by(facts.environment.architecture, merged.environment.architecture);
  override_by(facts.environment.gpu, merged.environment.gpu);
  override_by(facts.environment.driver, merged.environment.driver);
  override_by(facts.environment.cuda, merged.environment.cuda);
  override_by(facts.environment.clocks, merged.environment.clocks);
  return merged;
}

// Of any report, by the keys that only it has.
StatusOr<RunRecord> ImportText(const std::string& text, const std::string& path,
                               const ImportFacts& facts) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path, {.allow_nonfinite = true}));
  if (json.is_object() && json.contains("operations") && json.contains("drafts")) {
    return ImportVerify(text, path, facts);
  }
  if (json.is_object() && json.contains("works") && json.contains("linear")) {
    return ImportRoofline(text, path, facts);
  }
  if (json.is_object() && json.contains("benchmarks") && json["benchmarks"].is_array()) {
    return ImportGoogleBenchmark(text, path, facts);
  }
  if (json.is_object() && json.contains("gpu") && json.contains("compute_capability")) {
    return ImportPublished(text, path, facts);
  }
  return InvalidArgumentError(fmt::format(
      "{}: expected a report of Google Benchmark (key benchmarks), of draftmark verify "
      "(operations, drafts) or of draftmark bench roofline (works, linear), or published "
      "results (gpu, compute_capability)",
      path));
}

// One run for everything that the bundle checked: its id is that of all its files.
StatusOr<RunRecord> ConformanceOf(const std::string& folder, const Summary& summary,
                                  const ImportFacts& facts, FileSystem& files) {
  std::string all_text = summary.text;
  RunRecord run;
  const std::string report = JoinPath(folder, "verify/report.json");
  bool verified = false;
  for (const SuiteResult& suite : summary.suites) {
    const bool complete = suite.problem.empty() || suite.passed > 0;
    verified = verified || (suite.name == "draftmark_verify" && complete);
  }
  // A report that the summary calls incomplete is not read.
  if (verified && files.IsFile(report)) {
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(report, files));
    DM_ASSIGN_OR_RETURN(run, ImportVerify(text, report, facts));
    all_text += text;
  }
  run.program = "draftmark-gpu/run " + summary.command;
  run.command = run.program;
  run.suites.insert(run.suites.end(), summary.suites.begin(), summary.suites.end());
  const std::string junit = JoinPath(folder, "junit.xml");
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(junit, files));
  DM_ASSIGN_OR_RETURN(std::vector<TestResult> tests, ReadJunit(text, junit));
  for (TestResult& test : tests) run.tests.push_back(std::move(test));
  all_text += text;
  run.source = "summary.json";
  run.source_sha256 = HashOf(all_text);
  if (!summary.cublaslt.empty()) run.context.emplace_back("cublaslt", CleanText(summary.cublaslt));
  DM_RETURN_IF_ERROR(ApplyFacts(facts, folder, run));
  HistoryRecord record = std::move(run);
  Canonicalize(record);
  DM_RETURN_IF_ERROR(CheckRecord(record).Annotated(folder));
  return std::get<RunRecord>(std::move(record));
}

StatusOr<std::vector<RunRecord>> ImportBundle(const std::string& folder, const ImportFacts& given,
                                              FileSystem& files) {
  DM_ASSIGN_OR_RETURN(const Summary summary, ReadSummary(JoinPath(folder, "summary.json"), files));
  const ImportFacts facts = Merged(given, summary.facts);
  if (facts.environment.architecture.empty()) {
    return InvalidArgumentError(
        fmt::format("{}: compute_capability: the machine did not tell it: add --arch sm_90 or "
                    "whatever it is",
                    JoinPath(folder, "summary.json")));
  }
  std::vector<RunRecord> runs;
  for (const SuiteResult& program : summary.suites) {
    const std::string report = JoinPath(folder, "bench/" + program.name + ".json");
    // What left no complete report is in the suites, with its problem.
    if (program.passed + program.failed == 0 || !files.IsFile(report)) continue;
    if (!program.problem.empty() && program.passed == 0) continue;
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(report, files));
    DM_ASSIGN_OR_RETURN(RunRecord run, ImportText(text, report, facts));
    run.command = fmt::format("draftmark-gpu/run {} --only {}", summary.command, program.name);
    runs.push_back(std::move(run));
  }
  DM_ASSIGN_OR_RETURN(RunRecord checks, ConformanceOf(folder, summary, facts, files));
  runs.push_back(std::move(checks));
  return runs;
}

}  // namespace

StatusOr<std::vector<RunRecord>> ImportPath(const std::string& path, const ImportFacts& facts,
                                            FileSystem& files) {
  DM_ASSIGN_OR_RETURN(const std::vector<ResultFolder> folders, FindResultFolders(path, files));
  std::vector<RunRecord> runs;
  for (const ResultFolder& folder : folders) {
    if (folder.is_bundle) {
      DM_ASSIGN_OR_RETURN(std::vector<RunRecord> found, ImportBundle(folder.path, facts, files));
      for (RunRecord& run : found) runs.push_back(std::move(run));
      continue;
    }
    for (const std::string& report : folder.reports) {
      DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(report, files));
      DM_ASSIGN_OR_RETURN(RunRecord run, ImportText(text, report, facts));
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace draftmark
