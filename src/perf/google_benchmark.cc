#include "src/perf/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "src/base/json.h"

namespace draftmark {
namespace {

class Reader {
 public:
  explicit Reader(BenchmarkReport& report) : report_(report) {}

  Status Add(const JsonObject& entry) {
    DM_ASSIGN_OR_RETURN(const std::string type, entry.StringOr("run_type", "iteration"));
    if (type == "aggregate" || entry.Has("aggregate_name")) return OkStatus();
    if (type != "iteration") return entry.TypeError("run_type", "iteration or aggregate");
    DM_ASSIGN_OR_RETURN(BenchmarkCase * found, FindCase(entry));
    DM_ASSIGN_OR_RETURN(const bool failed, Failed(entry, *found));
    if (failed) return OkStatus();
    DM_RETURN_IF_ERROR(CheckUnit(entry, *found));
    DM_ASSIGN_OR_RETURN(const double time, entry.Number("real_time"));
    const double seconds = time / UnitsPerSecond(found->unit);
    if (!(seconds >= kShortestSeconds && seconds <= kLongestSeconds)) {
      return entry.TypeError("real_time", fmt::format("a time from {:g} to {:g} s",
                                                      kShortestSeconds, kLongestSeconds));
    }
    found->seconds.push_back(seconds);
    return OkStatus();
  }

 private:
  // The case that the entry belongs to, new or known. Stays where it is until the next call.
  StatusOr<BenchmarkCase*> FindCase(const JsonObject& entry) {
    DM_ASSIGN_OR_RETURN(const std::string own_name, entry.String("name"));
    DM_ASSIGN_OR_RETURN(const std::string name, entry.StringOr("run_name", own_name));
    const char* const field = entry.Has("run_name") ? "run_name" : "name";
    const auto is_control = [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    };
    if (name.empty() || std::any_of(name.begin(), name.end(), is_control)) {
      return entry.TypeError(field, "a name without control characters");
    }
    DM_ASSIGN_OR_RETURN(const std::uint64_t repetition, entry.U64Or("repetition_index", 0));
    if (!seen_.emplace(name, repetition).second) {
      return DataLossError(fmt::format("{}: {} is there twice as repetition {}; a file is one run",
                                       entry.Where(field), DescribeJson(name), repetition));
    }
    const auto [at, is_new] = index_.emplace(name, report_.cases.size());
    if (is_new) report_.cases.push_back({.name = name});
    return &report_.cases[at->second];
  }

  StatusOr<bool> Failed(const JsonObject& entry, BenchmarkCase& found) {
    DM_ASSIGN_OR_RETURN(const bool error, entry.BoolOr("error_occurred", false));
    DM_ASSIGN_OR_RETURN(const bool skipped, entry.BoolOr("skipped", false));
    if (!error && !skipped) return false;
    DM_ASSIGN_OR_RETURN(std::string message,
                        entry.StringOr(error ? "error_message" : "skip_message", ""));
    for (char& c : message) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    if (found.failure.empty()) {
      found.failure = fmt::format("{} in {}{}{}", error ? "failed" : "skipped", report_.source,
                                  message.empty() ? "" : ": ", message);
    }
    return true;
  }

  static Status CheckUnit(const JsonObject& entry, BenchmarkCase& found) {
    DM_ASSIGN_OR_RETURN(const std::string unit, entry.String("time_unit"));
    if (UnitsPerSecond(unit) == 0) return entry.TypeError("time_unit", "ns, us, ms or s");
    if (found.unit.empty()) {
      found.unit = unit;
      found.unit_field = entry.Where("time_unit");
    }
    if (unit != found.unit) {
      return entry.TypeError("time_unit", found.unit + " as in the case's other repetitions");
    }
    return OkStatus();
  }

  BenchmarkReport& report_;
  std::map<std::string, std::size_t> index_;
  std::set<std::pair<std::string, std::uint64_t>> seen_;
};

}  // namespace

double UnitsPerSecond(std::string_view unit) {
  if (unit == "ns") return 1e9;
  if (unit == "us") return 1e6;
  if (unit == "ms") return 1e3;
  return unit == "s" ? 1 : 0;
}

StatusOr<BenchmarkReport> ParseGoogleBenchmark(std::string_view text, const std::string& source) {
  // A counter may be NaN, as a rate over no time is; a time may not.
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source, {.allow_nonfinite = true}));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> entries, root.ObjectList("benchmarks"));
  BenchmarkReport report{.source = source, .cases = {}};
  Reader reader(report);
  for (const JsonObject& entry : entries) DM_RETURN_IF_ERROR(reader.Add(entry));
  if (report.cases.empty()) {
    return DataLossError(fmt::format(
        "{}: {}", root.Where("benchmarks"),
        entries.empty() ? "no benchmark was run"
                        : "aggregates only; run without --benchmark_report_aggregates_only"));
  }
  return report;
}

}  // namespace draftmark
