#include "src/perf/history/import_published.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/history/import_google_benchmark.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr double kMicrosecond = 1e-6;
constexpr std::int64_t kSecondsPerDay = 86400;

Point TimedPoint(const std::string& id, double seconds, const char* unit) {
  return {
      .case_id = CleanText(id), .seconds = seconds, .median = seconds, .samples = 1, .unit = unit};
}

// All numbers of an object: exact counts apart from the rest.
Status AddNumbers(const JsonObject& object, const std::string& prefix, Point& point) {
  for (const auto& [key, value] : object.json().items()) {
    const std::string name = CleanText(prefix + key);
    if (IsExactCounter(name)) {
      DM_ASSIGN_OR_RETURN(const std::int64_t count, object.I64(key));
      point.counts.emplace_back(name, count);
    } else if (value.is_number()) {
      DM_ASSIGN_OR_RETURN(const double number, object.Number(key));
      point.numbers.emplace_back(name, number);
    }
  }
  return OkStatus();
}

Status AddDraft(const JsonObject& draft, const std::string& id, RunRecord& run) {
  const char* const field = draft.Has("median_ms") ? "median_ms" : "graph_ms";
  DM_ASSIGN_OR_RETURN(const double milliseconds, draft.Number(field));
  if (!(milliseconds > 0)) return draft.TypeError(field, "a time above 0");
  Point point = TimedPoint(id, milliseconds * kMillisecond, "ms");
  DM_ASSIGN_OR_RETURN(const std::optional<double> floor_ms, draft.OptionalNumber("floor_ms"));
  if (floor_ms) point.floor_share = *floor_ms / milliseconds;
  DM_RETURN_IF_ERROR(AddNumbers(draft, "", point));
  if (draft.Has("memory")) {
    DM_ASSIGN_OR_RETURN(const JsonObject memory, draft.Object("memory"));
    DM_RETURN_IF_ERROR(AddNumbers(memory, "memory_", point));
  }
  run.points.push_back(std::move(point));
  return OkStatus();
}

// A list of drafts with ids, or an object of them by id.
Status AddDrafts(const JsonObject& parent, RunRecord& run) {
  if (!parent.Has("drafts")) return OkStatus();
  if (!parent.Find("drafts")->is_object()) {
    DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> drafts, parent.ObjectList("drafts"));
    for (const JsonObject& draft : drafts) {
      DM_ASSIGN_OR_RETURN(const std::string id, draft.String("id"));
      DM_RETURN_IF_ERROR(AddDraft(draft, id, run));
    }
    return OkStatus();
  }
  DM_ASSIGN_OR_RETURN(const JsonObject drafts, parent.Object("drafts"));
  for (const auto& [id, value] : drafts.json().items()) {
    DM_ASSIGN_OR_RETURN(const JsonObject draft, drafts.Object(id));
    DM_RETURN_IF_ERROR(AddDraft(draft, id, run));
  }
  return OkStatus();
}

Status AddRows(const JsonObject& root, RunRecord& run) {
  if (!root.Has("benchmark")) return OkStatus();
  DM_ASSIGN_OR_RETURN(const JsonObject benchmark, root.Object("benchmark"));
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> rows, benchmark.ObjectList("rows"));
  for (const JsonObject& row : rows) {
    DM_ASSIGN_OR_RETURN(const std::string id, row.String("case"));
    DM_ASSIGN_OR_RETURN(const double microseconds, row.Number("microseconds"));
    if (!(microseconds > 0)) return row.TypeError("microseconds", "a time above 0");
    Point point = TimedPoint(id, microseconds * kMicrosecond, "us");
    DM_ASSIGN_OR_RETURN(point.bytes_per_second, row.OptionalNumber("bytes_per_second"));
    DM_ASSIGN_OR_RETURN(point.copy_share, row.OptionalNumber("copy_share"));
    DM_ASSIGN_OR_RETURN(const std::optional<bool> cold, row.OptionalBool("cold"));
    if (cold) point.numbers.emplace_back("cold", *cold ? 1 : 0);
    run.points.push_back(std::move(point));
  }
  return OkStatus();
}

Status AddConformance(const JsonObject& conformance, RunRecord& run) {
  if (conformance.Has("operations")) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t failed, conformance.U64("failed"));
    DM_ASSIGN_OR_RETURN(const JsonObject operations, conformance.Object("operations"));
    for (const auto& [name, value] : operations.json().items()) {
      DM_ASSIGN_OR_RETURN(const JsonObject operation, operations.Object(name));
      DM_ASSIGN_OR_RETURN(const double share, operation.Number("worst_used_share"));
      run.conformance.push_back({.case_id = CleanText("op/" + name + "/all/bf16"),
                                 .precision = "bf16",
                                 .backend = "cuda",
                                 .status = failed == 0 ? "PASS" : "FAIL",
                                 .used_share = share});
    }
  }
  if (!conformance.Has("programs")) {
    // Totals alone.
    if (conformance.Has("operations") || !conformance.Has("passed")) return OkStatus();
    SuiteResult all{.name = "conformance"};
    DM_ASSIGN_OR_RETURN(all.passed, conformance.I64("passed"));
    DM_ASSIGN_OR_RETURN(all.failed, conformance.I64("failed"));
    DM_ASSIGN_OR_RETURN(all.skipped, conformance.I64("skipped"));
    run.suites.push_back(std::move(all));
    return OkStatus();
  }
  DM_ASSIGN_OR_RETURN(const JsonObject programs, conformance.Object("programs"));
  for (const auto& [name, value] : programs.json().items()) {
    DM_ASSIGN_OR_RETURN(const JsonObject program, programs.Object(name));
    SuiteResult suite{.name = CleanText(name)};
    DM_ASSIGN_OR_RETURN(suite.passed, program.I64("passed"));
    DM_ASSIGN_OR_RETURN(suite.failed, program.I64("failed"));
    DM_ASSIGN_OR_RETURN(suite.skipped, program.I64("skipped"));
    run.suites.push_back(std::move(suite));
  }
  return OkStatus();
}

Status ReadMachine(const JsonObject& root, RunRecord& run) {
  DM_ASSIGN_OR_RETURN(run.environment.gpu, root.String("gpu"));
  DM_ASSIGN_OR_RETURN(const std::string capability, root.String("compute_capability"));
  run.environment.architecture = ArchitectureOf(capability);
  if (run.environment.architecture.empty()) {
    return root.TypeError("compute_capability", "an architecture as sm_90");
  }
  DM_ASSIGN_OR_RETURN(run.environment.driver, root.StringOr("driver", ""));
  DM_ASSIGN_OR_RETURN(run.environment.cuda, root.StringOr("cuda", ""));
  DM_ASSIGN_OR_RETURN(run.command, root.StringOr("command", ""));
  return OkStatus();
}

// Of several parts of a file that say it, what was measured last decides, and the file itself
// first.
Status ReadOrigin(const JsonObject& object, RunRecord& run) {
  DM_ASSIGN_OR_RETURN(run.commit, object.StringOr("commit", run.commit));
  DM_ASSIGN_OR_RETURN(const std::string date, object.StringOr("date", ""));
  if (date.empty()) return OkStatus();
  if (const std::optional<std::int64_t> time = ParseUtc(date)) {
    run.time = *time;
  } else if (const std::optional<std::int64_t> day = DayOfNight(date)) {
    run.time = *day * kSecondsPerDay;
  } else {
    return object.TypeError("date", "a time as 2026-11-30T02:24:17Z, or a day");
  }
  return OkStatus();
}

}  // namespace

StatusOr<RunRecord> ImportPublished(std::string_view text, const std::string& source,
                                    const ImportFacts& facts) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  RunRecord run;
  run.program = "published results";
  run.source = FileNameOf(source);
  run.source_sha256 = HashOf(text);
  DM_RETURN_IF_ERROR(ReadMachine(root, run));
  if (root.Has("conformance")) {
    DM_ASSIGN_OR_RETURN(const JsonObject conformance, root.Object("conformance"));
    DM_RETURN_IF_ERROR(ReadOrigin(conformance, run));
    DM_RETURN_IF_ERROR(AddConformance(conformance, run));
  }
  for (const char* const part : {"benchmark", "benchmarks"}) {
    if (!root.Has(part)) continue;
    DM_ASSIGN_OR_RETURN(const JsonObject measured, root.Object(part));
    DM_RETURN_IF_ERROR(ReadOrigin(measured, run));
  }
  DM_RETURN_IF_ERROR(ReadOrigin(root, run));
  DM_RETURN_IF_ERROR(AddDrafts(root, run));
  DM_RETURN_IF_ERROR(AddRows(root, run));
  if (root.Has("benchmarks")) {
    DM_ASSIGN_OR_RETURN(const JsonObject benchmarks, root.Object("benchmarks"));
    DM_RETURN_IF_ERROR(AddDrafts(benchmarks, run));
  }
  if (run.points.empty() && run.conformance.empty() && run.suites.empty()) {
    return FailedPreconditionError(
        source + ": expected published results with drafts, benchmark.rows or conformance");
  }
  DM_RETURN_IF_ERROR(ApplyFacts(facts, source, run));
  HistoryRecord record = std::move(run);
  Canonicalize(record);
  DM_RETURN_IF_ERROR(CheckRecord(record).Annotated(source));
  return std::get<RunRecord>(std::move(record));
}

}  // namespace draftmark
