#include "src/perf/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

// Far above any run, and sums of them stay exact or at least finite.
constexpr double kMostCycles = 1e18;
constexpr double kMostSamples = 1e12;
constexpr double kLargestExact = 0x1p53;  // above it a double does not tell neighbours apart

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

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
    return AddCounters(entry, *found);
  }

 private:
  // The case that the entry belongs to, new or known. Stays where it is until the next call.
  StatusOr<BenchmarkCase*> FindCase(const JsonObject& entry) {
    DM_ASSIGN_OR_RETURN(const std::string own_name, entry.String("name"));
    DM_ASSIGN_OR_RETURN(const std::string name, entry.StringOr("run_name", own_name));
    const char* const field = entry.Has("run_name") ? "run_name" : "name";
    if (name.empty() || HasControl(name)) {
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

  // What an entry says of its samples. Those of a case all give cycles, or none does.
  static Status AddCounters(const JsonObject& entry, BenchmarkCase& found) {
    const bool all_so_far = found.cycles.size() + 1 == found.seconds.size();
    if (entry.Has(kCyclesCounter) ? !all_so_far : !found.cycles.empty()) {
      return entry.TypeError(kCyclesCounter, "cycles in all of a case's repetitions or in none");
    }
    if (entry.Has(kCyclesCounter)) {
      DM_ASSIGN_OR_RETURN(const double cycles, entry.Number(kCyclesCounter));
      if (!(cycles > 0 && cycles < kMostCycles)) {
        return entry.TypeError(kCyclesCounter, "a number of cycles above 0");
      }
      found.cycles.push_back(cycles);
    }
    DM_ASSIGN_OR_RETURN(const double samples, entry.NumberOr(kSamplesCounter, 0));
    DM_ASSIGN_OR_RETURN(const double voided, entry.NumberOr(kVoidedCounter, 0));
    if (!(samples >= 0 && samples <= kMostSamples)) {
      return entry.TypeError(kSamplesCounter, "a number of samples");
    }
    if (!(voided >= 0 && voided <= samples)) {
      return entry.TypeError(kVoidedCounter, fmt::format("0 to {} samples", samples));
    }
    found.samples += samples;
    found.voided += voided;
    for (const char* const reason :
         {kVoidedByProcesses, kVoidedByThrottle, kVoidedByClock, kVoidedByEcc}) {
      DM_ASSIGN_OR_RETURN(const double of_it, entry.NumberOr(reason, 0));
      if (of_it > 0) found.void_reasons[reason] += of_it;
    }
    return AddCounts(entry, found);
  }

  static Status AddCounts(const JsonObject& entry, BenchmarkCase& found) {
    for (const auto& item : entry.json().items()) {
      if (!IsExactCounter(item.key()) || item.value().is_null()) continue;
      if (HasControl(item.key())) {
        return DataLossError(fmt::format("{}: a counter's name has control characters",
                                         entry.Where(DescribeJson(item.key()))));
      }
      DM_ASSIGN_OR_RETURN(const std::uint64_t count, ReadExactCounter(entry, item.key()));
      std::uint64_t& most = found.counts[item.key()];
      most = std::max(most, count);
    }
    return OkStatus();
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

Status ReadContext(const JsonObject& root, BenchmarkReport& report) {
  if (!root.Has("context")) return OkStatus();
  DM_ASSIGN_OR_RETURN(const JsonObject context, root.Object("context"));
  for (const auto& [key, value] : context.json().items()) {
    if (value.is_string()) report.context[key] = JsonText(value);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::uint64_t> ReadExactCounter(const JsonObject& entry, const std::string& name) {
  DM_ASSIGN_OR_RETURN(const double value, entry.Number(name));
  if (value >= 0 && value <= kLargestExact && value == std::floor(value)) {
    return static_cast<std::uint64_t>(value);
  }
  return entry.TypeError(name, "a whole number from 0 to 2^53");
}

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
  DM_RETURN_IF_ERROR(ReadContext(root, report));
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
