// What a report of Google Benchmark says about the GPU: gpu, driver, cublaslt_version,
// copy_bytes_per_second. Apart from benchmark_gpu.h, so that other programs need no Google
// Benchmark.
#ifndef DRAFTMARK_BENCHMARKS_BENCHMARK_CONTEXT_H_
#define DRAFTMARK_BENCHMARKS_BENCHMARK_CONTEXT_H_

#include "benchmarks/benchmark_gpu.h"

namespace draftmark {

void AddBenchmarkContext(const BenchmarkGpu& gpu);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_BENCHMARK_CONTEXT_H_
