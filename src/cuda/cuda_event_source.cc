#include "src/cuda/cuda_event_source.h"

#include <cuda_runtime_api.h>

#include <new>

#include "fmt/format.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/stream.h"

namespace draftmark {
namespace {

cudaEvent_t EventOf(std::uint64_t handle) {
  return reinterpret_cast<cudaEvent_t>(static_cast<std::uintptr_t>(handle));
}

}  // namespace

CudaEventSource::~CudaEventSource() {
  for (const std::uint64_t event : live_) (void)cudaEventDestroy(EventOf(event));
}

StatusOr<std::uint64_t> CudaEventSource::Create() {
  cudaEvent_t event = nullptr;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
                 "cudaEventCreateWithFlags"));
  const std::uint64_t handle = reinterpret_cast<std::uintptr_t>(event);
  try {
    const std::lock_guard lock(mutex_);
    live_.insert(handle);
  } catch (const std::bad_alloc&) {  // nobody would destroy what is in no list
    (void)cudaEventDestroy(event);
    return ResourceExhaustedError("event: out of host memory");
  }
  return handle;
}

Status CudaEventSource::CheckAlive(std::uint64_t event) const {
  const std::lock_guard lock(mutex_);
  if (live_.count(event) != 0) return OkStatus();
  return InvalidArgumentError(fmt::format("event {:#x} is not alive", event));
}

Status CudaEventSource::Record(std::uint64_t event, StreamHandle stream) {
  DM_RETURN_IF_ERROR(CheckAlive(event));
  return CudaStatus(cudaEventRecord(EventOf(event), StreamOf(stream)), "cudaEventRecord");
}

Status CudaEventSource::Wait(std::uint64_t event) {
  DM_RETURN_IF_ERROR(CheckAlive(event));
  // Not under the lock: other threads may go on with other events.
  return CudaStatus(cudaEventSynchronize(EventOf(event)), "cudaEventSynchronize");
}

Status CudaEventSource::Destroy(std::uint64_t event) {
  const std::lock_guard lock(mutex_);
  if (live_.erase(event) == 0) {
    return InvalidArgumentError(fmt::format("event {:#x} is not alive", event));
  }
  return CudaStatus(cudaEventDestroy(EventOf(event)), "cudaEventDestroy");
}

std::uint64_t CudaEventSource::live_count() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

}  // namespace draftmark
