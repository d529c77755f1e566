// Streams and events of the current device, owned.
//
//   DM_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
//   DM_ASSIGN_OR_RETURN(CudaEvent start, CudaEvent::Create(CudaEvent::Timing::kOn));
//   DM_RETURN_IF_ERROR(start.Record(stream.get()));
//
// Movable, not copyable; the destructor destroys what was created (work already enqueued still
// runs to its end). Errors are those of CudaStatus. A stream may be used by several threads, an
// event by one at a time.
#ifndef DRAFTMARK_SRC_CUDA_STREAM_H_
#define DRAFTMARK_SRC_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "src/base/status.h"
#include "src/scratch/device_address.h"

namespace draftmark {

// The stream as src/scratch knows it, and back.
inline StreamHandle HandleOf(cudaStream_t stream) {
  return {reinterpret_cast<std::uintptr_t>(stream)};
}
inline cudaStream_t StreamOf(StreamHandle handle) {
  return reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(handle.value));
}

// Waits for everything enqueued so far on any stream of the current device. Also returns what
// earlier kernels did wrong. Not while any thread captures a graph on this device: CUDA forbids it
// in every mode of capture.
Status SynchronizeDevice();

class CudaStream {
 public:
  // A stream that does not wait for the default stream.
  static StatusOr<CudaStream> Create();

  cudaStream_t get() const { return stream_.get(); }
  // Waits for everything enqueued so far. Also returns what earlier kernels did wrong.
  Status Synchronize() const;

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { (void)cudaStreamDestroy(stream); }
  };

  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}

  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> stream_;
};

class CudaEvent {
 public:
  enum class Timing { kOff, kOn };  // an event without a time is cheaper
  static StatusOr<CudaEvent> Create(Timing timing);

  cudaEvent_t get() const { return event_.get(); }
  Status Record(cudaStream_t stream);
  // Blocks the host until the work before the last Record is done; at once if there was none.
  Status Wait() const;
  // From `start` to this one, both of Timing::kOn, recorded and completed. About half a
  // microsecond of resolution.
  StatusOr<double> MillisecondsSince(const CudaEvent& start) const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
  };

  explicit CudaEvent(cudaEvent_t event) : event_(event) {}

  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy> event_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_STREAM_H_
