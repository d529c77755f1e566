#include "benchmarks/replay/replay_kit.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "benchmarks/replay/replay_kernels.h"
#include "src/cuda/cuda_status.h"

namespace draftmark {
namespace {

// Of free memory; and no more than this, which is enough for all shapes and filled in a moment.
constexpr double kMemoryShare = 0.4;
constexpr std::uint64_t kMostMemory = std::uint64_t{16} << 30;
constexpr std::size_t kCounterBytes = 16;  // of the counter, and of the sink

Status Zero(const DeviceBuffer& buffer, cudaStream_t stream) {
  return CudaStatus(cudaMemsetAsync(buffer.address().value, 0, buffer.bytes(), stream),
                    "cudaMemsetAsync");
}

}  // namespace

StatusOr<std::unique_ptr<ReplayKit>> ReplayKit::Create(BenchmarkGpu& gpu) {
  DM_ASSIGN_OR_RETURN(CudaEvent start, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSIGN_OR_RETURN(CudaEvent stop, CudaEvent::Create(CudaEvent::Timing::kOn));
  std::unique_ptr<ReplayKit> kit(new ReplayKit(gpu, std::move(start), std::move(stop)));
  DM_RETURN_IF_ERROR(kit->Allocate());
  return kit;
}

Status ReplayKit::Allocate() {
  const auto create = [&](std::uint64_t bytes) {
    return DeviceBuffer::Create(gpu_.allocator(), {.bytes = bytes, .tag = "replay kit"});
  };
  const auto l2 = static_cast<std::uint64_t>(std::max<std::int64_t>(gpu_.info().l2_bytes, 0));
  DM_ASSIGN_OR_RETURN(sweep_, create(std::max<std::uint64_t>(16, 2 * l2 / 16 * 16)));
  DM_ASSIGN_OR_RETURN(clocks_, create(2 * kMostSms * sizeof(ClockReading)));
  DM_ASSIGN_OR_RETURN(differences_, create(2 * kCounterBytes));
  for (const DeviceBuffer* const buffer : {&sweep_, &clocks_, &differences_}) {
    DM_RETURN_IF_ERROR(Zero(*buffer, gpu_.stream().get()));
  }
  DM_RETURN_IF_ERROR(gpu_.stream().Synchronize());
  std::size_t free_bytes = 0, all_bytes = 0;
  DM_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo"));
  memory_limit_ = std::min(
      kMostMemory, static_cast<std::uint64_t>(kMemoryShare * static_cast<double>(free_bytes)));
  return OkStatus();
}

StatusOr<std::byte*> ReplayKit::Memory(std::uint64_t bytes) {
  if (memory_.bytes() < bytes) {
    memory_ = DeviceBuffer();  // not both at once
    DM_ASSIGN_OR_RETURN(
        memory_, DeviceBuffer::Create(gpu_.allocator(), {.bytes = bytes, .tag = "operands"}));
  }
  return memory_.As<std::byte>();
}

Status ReplayKit::ReadClocks(std::size_t which, cudaStream_t stream) {
  ClockReading* const readings = clocks_.As<ClockReading>() + which * kMostSms;
  DM_RETURN_IF_ERROR(CudaStatus(
      cudaMemsetAsync(readings, 0, kMostSms * sizeof(ClockReading), stream), "cudaMemsetAsync"));
  return LaunchReadClocks(readings, gpu_.info().sm_count, stream);
}

StatusOr<std::optional<double>> ReplayKit::Hertz(cudaStream_t stream) {
  std::vector<ClockReading> readings(2 * kMostSms);
  DM_RETURN_IF_ERROR(
      CopyToHost(std::as_writable_bytes(std::span(readings)), clocks_.address(), stream));
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  const std::span<const ClockReading> all(readings);
  return ClockHertz(all.first(kMostSms), all.subspan(kMostSms));
}

StatusOr<std::optional<double>> ReplayKit::ClockDuring(const std::function<Status()>& run,
                                                       cudaStream_t stream) {
  DM_RETURN_IF_ERROR(ReadClocks(0, stream));
  // What `run` times may begin on an idle GPU.
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  DM_RETURN_IF_ERROR(run());
  DM_RETURN_IF_ERROR(ReadClocks(1, stream));
  return Hertz(stream);
}

StatusOr<TimedSample> ReplayKit::Sample(const Steps& steps, cudaStream_t stream) {
  DM_RETURN_IF_ERROR(ReadClocks(0, stream));
  if (steps.before) DM_RETURN_IF_ERROR(steps.before());
  if (steps.sweep_bytes > sweep_.bytes()) {
    return InternalError(fmt::format("a sweep of {} bytes is wanted, and {} are there",
                                     steps.sweep_bytes, sweep_.bytes()));
  }
  DM_RETURN_IF_ERROR(LaunchSweep(
      sweep_.address().value, steps.sweep_bytes,
      reinterpret_cast<unsigned*>(differences_.As<std::byte>() + kCounterBytes), stream));
  DM_RETURN_IF_ERROR(start_.Record(stream));
  DM_RETURN_IF_ERROR(steps.timed());
  DM_RETURN_IF_ERROR(stop_.Record(stream));
  if (steps.behind) DM_RETURN_IF_ERROR(steps.behind());
  DM_RETURN_IF_ERROR(ReadClocks(1, stream));
  unsigned long long different = 0;
  DM_RETURN_IF_ERROR(
      CopyToHost(std::as_writable_bytes(std::span(&different, 1)), differences_.address(), stream));
  TimedSample sample;
  DM_ASSIGN_OR_RETURN(sample.clock_hz, Hertz(stream));
  DM_ASSIGN_OR_RETURN(const double milliseconds, stop_.MillisecondsSince(start_));
  sample.seconds = milliseconds / 1e3;
  if (different > 0) {
    DM_RETURN_IF_ERROR(Zero(differences_, stream));
    return InternalError(
        fmt::format("{} 16-byte words that a timed replay wrote are not those of "
                    "the launch before it",
                    different));
  }
  return sample;
}

}  // namespace draftmark
