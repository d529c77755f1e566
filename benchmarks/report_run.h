// A run of samples as one entry of Google Benchmark's report.
//
//   benchmark::RegisterBenchmark(id, [&](benchmark::State& state) {
//     const StatusOr<SampledRun> run = TakeSamples(...);
//     failed |= !ReportRun(run, cost, state);
//   })->UseManualTime()->Iterations(1);
//
// real_time is the run's value, so an entry is a run, as `draftmark perf` takes it, and the counters
// are those of src/perf/benchmark_counters.h. What failed, and what is invalid because too many
// samples are void, is an entry with an error and has no number.
#ifndef DRAFTMARK_BENCHMARKS_REPORT_RUN_H_
#define DRAFTMARK_BENCHMARKS_REPORT_RUN_H_

#include <benchmark/benchmark.h>

#include <optional>

#include "benchmarks/sampling.h"
#include "src/base/status.h"

namespace draftmark {

struct CallCost {
  double bytes = 0;
  double flops = 0;
  double copy_bytes_per_second = 0;
  std::optional<double> peak_flops_per_second = std::nullopt;  // absent: not known

  double FloorSeconds() const;
};

// False if the run failed; a run that is invalid has not. An error's message in the report begins
// with "invalid: " or is that of the status.
bool ReportRun(const StatusOr<SampledRun>& run, const CallCost& cost, benchmark::State& state);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPORT_RUN_H_
