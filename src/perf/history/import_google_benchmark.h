// A report of Google Benchmark as a run of the history.
//
//   DM_ASSIGN_OR_RETURN(const RunRecord run,
//                       ImportGoogleBenchmark(text, "draft_benchmark.json", {}));
//
// The run's value of a case is that of its repetitions (run_value.h); where the program itself took
// the samples and says so by the counters of benchmark_counters.h, real_time is the value already,
// and samples, void samples and their reasons, and the median are the counters'.
//
// Counters. Exact counts, which a gate compares without a test: launches, allocations, peak_bytes,
// device_bytes, and memory_*. Rates and shares: GB/s, GFLOP/s (or Google's bytes_per_second,
// bytes/s, flops/s), copy_share, floor_share (or ratio_to_floor, its inverse). All others are kept
// as numbers. Of several repetitions the largest count and the median of the rest. What is NaN, as
// a rate over no time is, is left out.
//
// Environment, commit and time come from the report's context (gpu, driver, clocks, commit, date,
// session, run_number) and from `facts`. Of the context nothing is kept that names a host or a
// folder. Errors name file and field, as ParseGoogleBenchmark's. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_IMPORT_GOOGLE_BENCHMARK_H_
#define DRAFTMARK_SRC_PERF_HISTORY_IMPORT_GOOGLE_BENCHMARK_H_

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/perf/history/import_facts.h"
#include "src/perf/history/record.h"

namespace draftmark {

StatusOr<RunRecord> ImportGoogleBenchmark(std::string_view text, const std::string& source,
                                          const ImportFacts& facts);

// The case that a benchmark is: its label if that is a case id, else its name without what Google
// Benchmark adds to it (/iterations:1, /manual_time, /repeats:3, ...).
std::string CaseIdOfBenchmark(std::string_view name, std::string_view label = "");

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_IMPORT_GOOGLE_BENCHMARK_H_
