#include "src/perf/history/import_google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/google_benchmark.h"
#include "src/perf/history/utc_time.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

constexpr double kGiga = 1e9;
// Above it a double does not tell neighbours apart.
constexpr double kLargestExact = 9007199254740992.0;

// Keys of an entry that are no counters.
bool IsOwnKey(std::string_view key) {
  static const std::set<std::string_view> kKeys = {"name",
                                                   "family_index",
                                                   "per_family_instance_index",
                                                   "run_name",
                                                   "run_type",
                                                   "repetitions",
                                                   "repetition_index",
                                                   "threads",
                                                   "iterations",
                                                   "real_time",
                                                   "cpu_time",
                                                   "time_unit",
                                                   "label",
                                                   "error_occurred",
                                                   "error_message",
                                                   "skipped",
                                                   "skip_message",
                                                   "aggregate_name",
                                                   "aggregate_unit",
                                                   "big_o",
                                                   "rms",
                                                   "complexity_n",
                                                   "allocs_per_iter",
                                                   "max_bytes_used",
                                                   "total_allocated_bytes",
                                                   "net_heap_growth"};
  return kKeys.contains(key);
}

// The counters of a case: name to one value for each repetition.
struct Counters {
  std::string label;
  std::map<std::string, std::vector<double>> values;

  std::optional<double> Median(const std::string& name) const {
    const auto at = values.find(name);
    if (at == values.end()) return std::nullopt;
    return draftmark::Median(at->second);
  }
  std::optional<double> Sum(const std::string& name) const {
    const auto at = values.find(name);
    if (at == values.end()) return std::nullopt;
    double sum = 0;
    for (const double value : at->second) sum += value;
    return sum;
  }
};

StatusOr<std::map<std::string, Counters>> ReadCounters(const JsonObject& root) {
  std::map<std::string, Counters> cases;
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> entries, root.ObjectList("benchmarks"));
  for (const JsonObject& entry : entries) {
    if (entry.Has("aggregate_name")) continue;
    DM_ASSIGN_OR_RETURN(const std::string own_name, entry.String("name"));
    DM_ASSIGN_OR_RETURN(const std::string name, entry.StringOr("run_name", own_name));
    Counters& counters = cases[name];
    DM_ASSIGN_OR_RETURN(counters.label, entry.StringOr("label", counters.label));
    for (const auto& [key, value] : entry.json().items()) {
      // NaN and infinity arrive as texts.
      if (IsOwnKey(key) || !value.is_number()) continue;
      DM_ASSIGN_OR_RETURN(const double number, entry.Number(key));
      counters.values[key].push_back(number);
    }
  }
  return cases;
}

std::string MarksOf(const Counters& counters) {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kReasons = {
      {{"voided_clock", "clock moved"},
       {"voided_ecc", "ECC error"},
       {"voided_processes", "other process"},
       {"voided_throttle", "throttled"}}};
  std::string marks;
  for (const auto& [counter, mark] : kReasons) {
    if (counters.Sum(counter).value_or(0) > 0)
      marks += (marks.empty() ? "" : ",") + std::string(mark);
  }
  return marks;
}

// The first of the counters that is there, times `factor`.
std::optional<double> RateOf(const Counters& counters, const std::string& giga,
                             const std::vector<std::string>& plain) {
  if (const auto value = counters.Median(giga)) return *value * kGiga;
  for (const std::string& name : plain) {
    if (const auto value = counters.Median(name)) return value;
  }
  return std::nullopt;
}

void TakeCounters(const Counters& counters, Point& point) {
  static const std::set<std::string> kTaken = {
      "samples",         "voided",     "voided_clock", "voided_ecc",       "voided_processes",
      "voided_throttle", "GB/s",       "GFLOP/s",      "bytes_per_second", "bytes/s",
      "flops/s",         "copy_share", "floor_share",  "median_seconds"};
  for (const auto& [name, values] : counters.values) {
    if (kTaken.contains(name)) continue;
    if (!IsExactCounter(name)) point.numbers.emplace_back(CleanText(name), Median(values));
  }
  point.bytes_per_second = RateOf(counters, "GB/s", {"bytes_per_second", "bytes/s"});
  point.flops_per_second = RateOf(counters, "GFLOP/s", {"flops/s"});
  point.copy_share = counters.Median("copy_share");
  point.floor_share = counters.Median("floor_share");
  const std::optional<double> ratio = counters.Median("ratio_to_floor");
  if (!point.floor_share && ratio && *ratio > 0) point.floor_share = 1 / *ratio;
}

// A regular expression that only this name fits, as a word of a shell.
std::string FilterOf(const std::string& name) {
  std::string filter = "'^";
  for (const char c : name) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) filter += '\\';
    filter += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return filter + "$'";
}

void AddTime(const BenchmarkCase& found, const Counters& counters, Point& point) {
  const RunValue value = RunValueOf(found.seconds);
  point.seconds = value.value;
  point.median = value.median;
  point.samples = static_cast<std::int64_t>(value.samples);
  point.unit = found.unit;
  const double voided = std::max(0.0, counters.Sum("voided").value_or(0));
  point.voided = static_cast<std::int64_t>(std::min(voided, kLargestExact));
  point.marks = MarksOf(counters);
  // The program took the samples, and gives their value as its time.
  const double taken = counters.Sum("samples").value_or(0) - voided;
  if (taken >= 1 && taken <= kLargestExact) point.samples = static_cast<std::int64_t>(taken);
  const std::optional<double> median = counters.Median("median_seconds");
  if (median && *median > 0) point.median = median;
}

// Texts and numbers of the context, without those that name a host or a folder.
NamedTexts ContextOf(const JsonObject& context) {
  static const std::set<std::string_view> kLeftOut = {
      "date",   "host_name", "executable", "load_avg", "caches",    "gpu",
      "driver", "clocks",    "commit",     "session",  "run_number"};
  NamedTexts kept;
  for (const auto& [key, value] : context.json().items()) {
    if (kLeftOut.contains(key) || value.is_structured() || value.is_null()) continue;
    const std::string text = CleanText(JsonText(value));
    const bool is_path = text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
    if (!is_path && !key.empty()) kept.emplace_back(CleanText(key), text);
  }
  return kept;
}

Status ReadContext(const JsonObject& root, RunRecord& run) {
  if (!root.Has("context")) return OkStatus();
  DM_ASSIGN_OR_RETURN(const JsonObject context, root.Object("context"));
  DM_ASSIGN_OR_RETURN(const std::string gpu, context.StringOr("gpu", ""));
  if (!gpu.empty()) run.environment = EnvironmentOfDevice(gpu);
  DM_ASSIGN_OR_RETURN(run.environment.driver, context.StringOr("driver", ""));
  DM_ASSIGN_OR_RETURN(const std::string clocks, context.StringOr(kClocksContext, ""));
  run.environment.clocks = ClocksPolicyOf(clocks);
  DM_ASSIGN_OR_RETURN(run.commit, context.StringOr("commit", ""));
  DM_ASSIGN_OR_RETURN(run.session, context.StringOr("session", ""));
  DM_ASSIGN_OR_RETURN(const std::string date, context.StringOr("date", ""));
  if (const std::optional<std::int64_t> time = ParseUtc(date)) run.time = *time;
  DM_ASSIGN_OR_RETURN(const std::string executable, context.StringOr("executable", ""));
  if (!executable.empty()) run.program = FileNameOf(executable);
  // Custom context is always a text.
  DM_ASSIGN_OR_RETURN(const std::string number, context.StringOr("run_number", "0"));
  const bool is_number =
      !number.empty() && number.size() < 10 &&
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return context.TypeError("run_number", "a number of digits");
  run.number = std::stoll(number);
  run.context = ContextOf(context);
  // Beside the key, which does not tell "unlocked" from "unknown".
  if (!clocks.empty()) run.context.emplace_back("clocks_policy", CleanText(clocks));
  return OkStatus();
}

}  // namespace

std::string CaseIdOfBenchmark(std::string_view name, std::string_view label) {
  for (const std::string_view room : {"op/", "draft/", "scratch/"}) {
    if (label.starts_with(room)) return CleanText(label);
  }
  constexpr std::array<std::string_view, 7> kRemarks = {
      "iterations:",  "repeats:",    "min_time:", "min_warmup_time:",
      "process_time", "manual_time", "real_time"};
  while (true) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos || slash == 0) break;
    const std::string_view last = name.substr(slash + 1);
    if (std::none_of(kRemarks.begin(), kRemarks.end(),
                     [&](std::string_view remark) { return last.starts_with(remark); })) {
      break;
    }
    name = name.substr(0, slash);
  }
  return CleanText(name);
}

StatusOr<RunRecord> ImportGoogleBenchmark(std::string_view text, const std::string& source,
                                          const ImportFacts& facts) {
  DM_ASSIGN_OR_RETURN(const BenchmarkReport report, ParseGoogleBenchmark(text, source));
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source, {.allow_nonfinite = true}));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  DM_ASSIGN_OR_RETURN(const auto counters, ReadCounters(root));
  RunRecord run;
  run.program = FileNameOf(source);
  run.source = FileNameOf(source);
  run.source_sha256 = HashOf(text);
  DM_RETURN_IF_ERROR(ReadContext(root, run));
  std::map<std::string, std::string> names;  // by case
  for (const BenchmarkCase& found : report.cases) {
    const Counters& its = counters.at(found.name);
    Point point{.case_id = CaseIdOfBenchmark(found.name, its.label)};
    const auto [other, is_new] = names.emplace(point.case_id, found.name);
    if (!is_new) {
      return DataLossError(fmt::format(
          "{}: benchmarks: {} and {} are both the case {}, which a run has once", source,
          DescribeJson(other->second), DescribeJson(found.name), DescribeJson(point.case_id)));
    }
    point.reproduce = run.program + " --benchmark_filter=" + FilterOf(found.name);
    if (!found.failure.empty()) {
      // Without the file's name, which may have folders.
      point.failure = CleanText(found.failure);
      const std::string in = " in " + source;
      if (const std::size_t at = point.failure.find(in); at != std::string::npos) {
        point.failure.erase(at, in.size());
      }
    } else {
      AddTime(found, its, point);
      TakeCounters(its, point);
      for (const auto& [name, count] : found.counts) {
        point.counts.emplace_back(name, static_cast<std::int64_t>(count));
      }
    }
    run.points.push_back(std::move(point));
  }
  DM_RETURN_IF_ERROR(ApplyFacts(facts, source, run));
  HistoryRecord record = std::move(run);
  Canonicalize(record);
  DM_RETURN_IF_ERROR(CheckRecord(record).Annotated(source));
  return std::get<RunRecord>(std::move(record));
}

}  // namespace draftmark
