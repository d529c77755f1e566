#include "src/perf/history/import_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

// The worst stage's relative L2 error, as a share of its bound. Stages that must be exact have
// none.
StatusOr<std::optional<double>> UsedShareOf(const JsonObject& draft) {
  std::optional<double> worst;
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> stages, draft.ObjectList("stages"));
  for (const JsonObject& stage : stages) {
    DM_ASSIGN_OR_RETURN(const std::optional<double> error, stage.OptionalNumber("relative_l2"));
    DM_ASSIGN_OR_RETURN(const std::optional<double> bound, stage.OptionalNumber("bound"));
    if (error && bound && *bound > 0) worst = std::max(worst.value_or(0), *error / *bound);
  }
  return worst;
}

StatusOr<ConformanceResult> ResultOf(const JsonObject& entry, bool is_draft) {
  ConformanceResult result;
  DM_ASSIGN_OR_RETURN(result.case_id, entry.String("case"));
  DM_ASSIGN_OR_RETURN(result.precision, entry.String("precision"));
  DM_ASSIGN_OR_RETURN(result.backend, entry.String("backend"));
  DM_ASSIGN_OR_RETURN(const std::string scratch, entry.StringOr("scratch", ""));
  DM_ASSIGN_OR_RETURN(const std::string path, entry.StringOr("path", ""));
  if (!scratch.empty()) result.variant = "scratch " + scratch;
  if (!path.empty()) result.variant += (result.variant.empty() ? "path " : ", path ") + path;
  DM_ASSIGN_OR_RETURN(result.status, entry.String("outcome"));
  DM_ASSIGN_OR_RETURN(const std::string signature, entry.StringOr("signature", ""));
  result.signature = CleanText(signature);
  if (is_draft) {
    DM_ASSIGN_OR_RETURN(result.used_share, UsedShareOf(entry));
  } else {
    DM_ASSIGN_OR_RETURN(result.used_share, entry.OptionalNumber("used_share"));
  }
  DM_ASSIGN_OR_RETURN(const std::string reproduce, entry.StringOr("reproduce", ""));
  result.reproduce = CleanText(reproduce);
  if (entry.Has("expectation")) {
    DM_ASSIGN_OR_RETURN(const JsonObject expectation, entry.Object("expectation"));
    DM_ASSIGN_OR_RETURN(const std::string reason, expectation.String("reason"));
    result.waiver = CleanText(reason);
    DM_ASSIGN_OR_RETURN(result.expires, expectation.String("expires"));
  }
  return result;
}

Status AddGroups(const JsonObject& root, RunRecord& run) {
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> groups, root.ObjectList("groups"));
  for (const JsonObject& group : groups) {
    DM_ASSIGN_OR_RETURN(const std::string suite, group.String("suite"));
    DM_ASSIGN_OR_RETURN(const std::string subject, group.String("subject"));
    DM_ASSIGN_OR_RETURN(const std::int64_t checks, group.I64("checks"));
    DM_ASSIGN_OR_RETURN(const std::int64_t failed, group.I64("failed"));
    if (failed > checks) return group.TypeError("failed", "at most as many as checks");
    const std::string name = CleanText(fmt::format("{}/{}", suite, subject));
    run.suites.push_back({.name = name, .passed = checks - failed, .failed = failed});
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> failures, group.StringList("failures"));
    for (std::size_t i = 0; i < failures.size(); ++i) {
      run.tests.push_back({.suite = name,
                           .test = fmt::format("failure {:04}", i),
                           .status = "failed",
                           .message = CleanText(failures[i])});
    }
  }
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> errors, root.StringList("errors"));
  if (errors.empty()) return OkStatus();
  run.suites.push_back({.name = "errors",
                        .failed = static_cast<std::int64_t>(errors.size()),
                        .problem = CleanText(errors.front())});
  return OkStatus();
}

// A run from the parsed text, with what every import has.
RunRecord NewRun(std::string_view text, const std::string& source, const std::string& program) {
  RunRecord run;
  run.program = program;
  run.source = FileNameOf(source);
  run.source_sha256 = HashOf(text);
  return run;
}

StatusOr<RunRecord> Finish(RunRecord run, const std::string& source, const ImportFacts& facts) {
  DM_RETURN_IF_ERROR(ApplyFacts(facts, source, run));
  HistoryRecord record = std::move(run);
  Canonicalize(record);
  DM_RETURN_IF_ERROR(CheckRecord(record).Annotated(source));
  return std::get<RunRecord>(std::move(record));
}

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr double kMillisecond = 1e-3;
constexpr double kMicrosecond = 1e-6;

Point FailedPoint(const std::string& id, const std::string& error) {
  return {.case_id = "roofline/" + CleanText(id), .failure = CleanText(error)};
}

// One path's times of a work.
Status AddWorkTimes(const JsonObject& work, std::string_view path, std::int64_t runs,
                    RunRecord& run) {
  if (!work.Has(path)) return OkStatus();
  DM_ASSIGN_OR_RETURN(const std::string id, work.String("id"));
  DM_ASSIGN_OR_RETURN(const JsonObject times, work.Object(path));
  DM_ASSIGN_OR_RETURN(const double median_ms, times.Number("median_ms"));
  DM_ASSIGN_OR_RETURN(const double floor_ms, work.Number("floor_ms"));
  if (!(median_ms > 0)) return times.TypeError("median_ms", "a time above 0");
  Point point{.case_id = "roofline/" + CleanText(id) + (path == "simple" ? "/path=simple" : ""),
              .seconds = median_ms * kMillisecond,
              .median = median_ms * kMillisecond,
              .samples = runs,
              .unit = "ms",
              .floor_share = floor_ms / median_ms};
  for (const char* const name : {"min_ms", "p90_ms", "queued_ms"}) {
    DM_ASSIGN_OR_RETURN(const std::optional<double> value, times.OptionalNumber(name));
    if (value) point.numbers.emplace_back(name, *value);
  }
  run.points.push_back(std::move(point));
  return OkStatus();
}

Status AddLinear(const JsonObject& line, RunRecord& run) {
  DM_ASSIGN_OR_RETURN(const std::string id, line.String("id"));
  DM_ASSIGN_OR_RETURN(const std::string error, line.StringOr("error", ""));
  if (!error.empty()) {
    run.points.push_back(FailedPoint(id, error));
    return OkStatus();
  }
  for (const bool simple : {false, true}) {
    DM_ASSIGN_OR_RETURN(const std::optional<double> us,
                        line.OptionalNumber(simple ? "simple_us" : "us"));
    DM_ASSIGN_OR_RETURN(const std::optional<double> share,
                        line.OptionalNumber(simple ? "simple_share" : "share"));
    if (!us || !(*us > 0)) continue;
    run.points.push_back({.case_id = "roofline/" + CleanText(id) + (simple ? "/path=simple" : ""),
                          .seconds = *us * kMicrosecond,
                          .median = *us * kMicrosecond,
                          .samples = 1,  // a mean over a chain of calls
                          .unit = "us",
                          .copy_share = share});
  }
  return OkStatus();
}

Status ReadRooflineMachine(const JsonObject& root, RunRecord& run) {
  DM_ASSIGN_OR_RETURN(const std::string gpu, root.StringOr("gpu", ""));
  run.environment = EnvironmentOfDevice(gpu);
  DM_ASSIGN_OR_RETURN(run.environment.driver, root.StringOr("driver", ""));
  DM_ASSIGN_OR_RETURN(const std::string cuda, root.StringOr("cuda", ""));
  if (!cuda.empty()) run.environment.cuda = cuda;
  DM_ASSIGN_OR_RETURN(run.commit, root.StringOr("commit", ""));
  DM_ASSIGN_OR_RETURN(const std::string date, root.StringOr("date", ""));
  if (const auto time = ParseUtc(date)) {
    run.time = *time;
  } else if (const auto day = DayOfNight(date)) {
    run.time = *day * kSecondsPerDay;
  }
  DM_ASSIGN_OR_RETURN(const std::optional<double> copies,
                      root.OptionalNumber("copy_bytes_per_second"));
  if (copies) run.context.emplace_back("copy_bytes_per_second", fmt::format("{}", *copies));
  DM_ASSIGN_OR_RETURN(const std::string cublaslt, root.StringOr("cublaslt", ""));
  if (!cublaslt.empty()) run.context.emplace_back("cublaslt", CleanText(cublaslt));
  return OkStatus();
}

}  // namespace

StatusOr<RunRecord> ImportVerify(std::string_view text, const std::string& source,
                                 const ImportFacts& facts) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  if (!root.Has("operations") || !root.Has("drafts")) {
    return FailedPreconditionError(source + ": expected a report of draftmark verify");
  }
  RunRecord run = NewRun(text, source, "draftmark_verify");
  DM_ASSIGN_OR_RETURN(const std::string device, root.StringOr("device", ""));
  if (!device.empty()) run.environment = EnvironmentOfDevice(device);
  for (const bool drafts : {false, true}) {
    DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> entries,
                        root.ObjectList(drafts ? "drafts" : "operations"));
    for (const JsonObject& entry : entries) {
      DM_ASSIGN_OR_RETURN(ConformanceResult result, ResultOf(entry, drafts));
      // What a plug-in does not support was not run.
      if (result.status == "SKIP") continue;
      run.conformance.push_back(std::move(result));
    }
  }
  DM_RETURN_IF_ERROR(AddGroups(root, run));
  return Finish(std::move(run), source, facts);
}

StatusOr<RunRecord> ImportRoofline(std::string_view text, const std::string& source,
                                   const ImportFacts& facts) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  if (!root.Has("works") || !root.Has("linear")) {
    return FailedPreconditionError(source + ": expected a report of draftmark bench roofline");
  }
  RunRecord run = NewRun(text, source, "draftmark_roofline");
  DM_RETURN_IF_ERROR(ReadRooflineMachine(root, run));
  DM_ASSIGN_OR_RETURN(const std::int64_t runs, root.I64("runs"));
  if (runs < 1) return root.TypeError("runs", "at least 1");
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> works, root.ObjectList("works"));
  for (const JsonObject& work : works) {
    DM_ASSIGN_OR_RETURN(const std::string error, work.StringOr("error", ""));
    if (!error.empty()) {
      DM_ASSIGN_OR_RETURN(const std::string id, work.String("id"));
      run.points.push_back(FailedPoint(id, error));
      continue;
    }
    for (const std::string_view path : {"fast", "simple"}) {
      DM_RETURN_IF_ERROR(AddWorkTimes(work, path, runs, run));
    }
  }
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> lines, root.ObjectList("linear"));
  for (const JsonObject& line : lines) DM_RETURN_IF_ERROR(AddLinear(line, run));
  return Finish(std::move(run), source, facts);
}

}  // namespace draftmark
