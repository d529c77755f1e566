// Reads a report of Google Benchmark (--benchmark_format=json or --benchmark_out).
//
//   DM_ASSIGN_OR_RETURN(const BenchmarkReport report, ParseGoogleBenchmark(text, "run1.json"));
//   report.cases[0].seconds;   // one for each repetition
//
// Aggregates (mean, median, ...) are passed over: only samples are evidence. The time is
// `real_time`, which is the manual time where a benchmark sets one. Errors name file and field;
// what cannot be a time, a name given twice or a report without a sample is an error. A benchmark
// that reports an error of its own, or was skipped, is a case with `failure`, and has no number.
// Counters that benchmark_counters.h names are read where they are. Pure.
#ifndef DRAFTMARK_SRC_PERF_GOOGLE_BENCHMARK_H_
#define DRAFTMARK_SRC_PERF_GOOGLE_BENCHMARK_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

// What a time may be. Shorter or longer is no measurement, and would overflow what is made of it.
inline constexpr double kShortestSeconds = 1e-15;
inline constexpr double kLongestSeconds = 1e9;

struct BenchmarkCase {
  std::string name = {};             // without control characters
  std::vector<double> seconds = {};  // in the order of the file
  std::string unit = {};             // ns, us, ms or s: in what the file gives them
  std::string unit_field = {};       // "run1.json: benchmarks[3].time_unit", for messages
  std::string failure = {};          // the benchmark's own message; empty: none
  std::vector<double> cycles = {};   // one for each of `seconds`, or none
  double samples = 0;                // taken, the void ones included; 0: the report does not say
  double voided = 0;                 // of these
  std::map<std::string, double> void_reasons = {};   // kVoidedBy...: samples
  std::map<std::string, std::uint64_t> counts = {};  // IsExactCounter: the largest of repetitions
};

struct BenchmarkReport {
  std::string source;                               // the file's name
  std::vector<BenchmarkCase> cases;                 // in the order of the file, no name twice
  std::map<std::string, std::string> context = {};  // its entries that are texts
};

StatusOr<BenchmarkReport> ParseGoogleBenchmark(std::string_view text, const std::string& source);

// A counter that IsExactCounter, of an entry that has it. Error: it is no whole number from 0 to
// 2^53. (Google Benchmark prints counters as doubles, which tell no larger ones apart.)
StatusOr<std::uint64_t> ReadExactCounter(const JsonObject& entry, const std::string& name);

// How many of `unit` a second has; 0 for a unit that Google Benchmark does not know.
double UnitsPerSecond(std::string_view unit);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_GOOGLE_BENCHMARK_H_
