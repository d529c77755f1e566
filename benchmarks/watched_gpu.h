// A GPU to measure on, and who watches it: the monitor was asked before this process used the GPU, so
// that it can tell this process from others.
//
//   DM_ASSIGN_OR_RETURN(const WatchedGpu watched, WatchedGpu::Open());
//   TakeSamples(work, *watched.monitor, watched.watch, {});
//
// Errors are those of BenchmarkGpu; a monitor that knows nothing is none.
#ifndef DRAFTMARK_BENCHMARKS_WATCHED_GPU_H_
#define DRAFTMARK_BENCHMARKS_WATCHED_GPU_H_

#include <memory>

#include "benchmarks/benchmark_gpu.h"
#include "src/base/status.h"
#include "src/perf/contamination.h"
#include "src/perf/gpu_state.h"

namespace draftmark {

struct WatchedGpu {
  static StatusOr<WatchedGpu> Open();

  std::unique_ptr<BenchmarkGpu> gpu;
  std::unique_ptr<GpuMonitor> monitor;
  ProcessWatch watch;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_WATCHED_GPU_H_
