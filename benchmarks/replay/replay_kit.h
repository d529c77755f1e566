// ReplayKit: the memory and the tools that all timed replays of a process share: one piece of device
// memory for operands, the memory that sweeps the cache, events, clock readings, a counter.
//
//   DM_ASSIGN_OR_RETURN(const auto kit, ReplayKit::Create(gpu));
//   DM_ASSIGN_OR_RETURN(std::byte* const memory, kit->Memory(bytes));   // for one case
//
// Asking for memory again gives the same back: what is made of it must be gone by then. One thread at
// a time. Errors are those of CUDA and the allocator. `gpu` must outlive it.
#ifndef DRAFTMARK_BENCHMARKS_REPLAY_REPLAY_KIT_H_
#define DRAFTMARK_BENCHMARKS_REPLAY_REPLAY_KIT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/replay/clock_reading.h"
#include "benchmarks/sampling.h"
#include "src/base/status.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/stream.h"

namespace draftmark {

class ReplayKit {
 public:
  static StatusOr<std::unique_ptr<ReplayKit>> Create(BenchmarkGpu& gpu);

  BenchmarkGpu& gpu() { return gpu_; }

  // At least `bytes`, aligned to 256; the contents are undefined.
  StatusOr<std::byte*> Memory(std::uint64_t bytes);
  // What Memory can give: a share of what was free when the kit was made.
  std::uint64_t memory_limit() const { return memory_limit_; }

  // One sample on `stream`: clocks, `before`, the sweep (0 bytes: none), `timed` between two events,
  // `behind`, clocks; waits for all of it. `behind` may add to `differences`.
  struct Steps {
    std::function<Status()> before = {};
    std::uint64_t sweep_bytes = 0;  // at most twice the L2 cache
    std::function<Status()> timed = {};
    std::function<Status()> behind = {};
  };
  StatusOr<TimedSample> Sample(const Steps& steps, cudaStream_t stream);

  // SM clock from before to behind what `run` enqueues on `stream`, or has run on it.
  StatusOr<std::optional<double>> ClockDuring(const std::function<Status()>& run,
                                              cudaStream_t stream);

  // On the device; Sample fails if it is above 0 behind it.
  unsigned long long* differences() const { return differences_.As<unsigned long long>(); }

 private:
  ReplayKit(BenchmarkGpu& gpu, CudaEvent start, CudaEvent stop)
      : gpu_(gpu), start_(std::move(start)), stop_(std::move(stop)) {}

  Status Allocate();
  Status ReadClocks(std::size_t which, cudaStream_t stream);
  StatusOr<std::optional<double>> Hertz(cudaStream_t stream);

  BenchmarkGpu& gpu_;
  CudaEvent start_;
  CudaEvent stop_;
  std::uint64_t memory_limit_ = 0;
  DeviceBuffer memory_;
  DeviceBuffer sweep_;        // zero
  DeviceBuffer clocks_;       // two readings
  DeviceBuffer differences_;  // the counter, and the sweep's sink behind it
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPLAY_REPLAY_KIT_H_
