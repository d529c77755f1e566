// What a report of Google Benchmark says about the GPU: gpu, driver, cublaslt_version,
// copy_bytes_per_second; of a watched one also nvml ("unknown" where nothing can be asked) and clocks
// (locked, unlocked, unknown: the clocks policy of the history's key). Apart from
// benchmark_gpu.h, so that other programs need no Google Benchmark.
#ifndef DRAFTMARK_BENCHMARKS_BENCHMARK_CONTEXT_H_
#define DRAFTMARK_BENCHMARKS_BENCHMARK_CONTEXT_H_

#include "benchmarks/watched_gpu.h"

namespace draftmark {

void AddBenchmarkContext(const WatchedGpu& watched);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_BENCHMARK_CONTEXT_H_
