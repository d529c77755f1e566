#include "benchmarks/benchmark_context.h"

#include <benchmark/benchmark.h>

#include <string>

namespace draftmark {

void AddBenchmarkContext(const BenchmarkGpu& gpu) {
  benchmark::AddCustomContext("gpu", gpu.info().Describe());
  benchmark::AddCustomContext("driver", gpu.driver_release());
  benchmark::AddCustomContext("cublaslt_version", std::to_string(gpu.cublaslt_version()));
  benchmark::AddCustomContext("copy_bytes_per_second", std::to_string(gpu.copy_bytes_per_second()));
}

}  // namespace draftmark
