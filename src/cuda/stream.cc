#include "src/cuda/stream.h"

#include "src/cuda/cuda_status.h"

namespace draftmark {

Status SynchronizeDevice() { return CudaStatus(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

StatusOr<CudaStream> CudaStream::Create() {
  cudaStream_t stream = nullptr;
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                "cudaStreamCreateWithFlags"));
  return CudaStream(stream);
}

Status CudaStream::Synchronize() const {
  return CudaStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

StatusOr<CudaEvent> CudaEvent::Create(Timing timing) {
  cudaEvent_t event = nullptr;
  const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags"));
  return CudaEvent(event);
}

Status CudaEvent::Record(cudaStream_t stream) {
  return CudaStatus(cudaEventRecord(event_.get(), stream), "cudaEventRecord");
}

Status CudaEvent::Wait() const {
  return CudaStatus(cudaEventSynchronize(event_.get()), "cudaEventSynchronize");
}

StatusOr<double> CudaEvent::MillisecondsSince(const CudaEvent& start) const {
  float milliseconds = 0;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&milliseconds, start.event_.get(), event_.get()),
                 "cudaEventElapsedTime"));
  return static_cast<double>(milliseconds);
}

}  // namespace draftmark
