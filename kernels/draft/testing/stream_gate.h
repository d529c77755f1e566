// StreamGate: holds a stream up until the host says so, so that whatever the host enqueues
// meanwhile is certain to run later than the host's next steps.
//
//   StreamGate gate(stream);   // closed: nothing enqueued from now on begins
//   ... enqueue ...
//   gate.Open();               // so does the destructor
//
// Calls that wait for the stream must not be made while it is closed.
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_STREAM_GATE_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_STREAM_GATE_H_

#include <cuda_runtime_api.h>

#include <future>
#include <memory>

#include "src/base/check.h"

namespace draftmark::kernels {

class StreamGate {
 public:
  explicit StreamGate(cudaStream_t stream) {
    // Owned by the callback: the stream may come to it after the gate is gone.
    auto opened = std::make_unique<std::future<void>>(open_.get_future());
    DM_CHECK(cudaLaunchHostFunc(stream, Wait, opened.release()) == cudaSuccess);
  }
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  ~StreamGate() { Open(); }

  void Open() {
    if (!is_open_) open_.set_value();
    is_open_ = true;
  }

 private:
  static void Wait(void* opened) {
    std::unique_ptr<std::future<void>>(static_cast<std::future<void>*>(opened))->wait();
  }

  std::promise<void> open_;
  bool is_open_ = false;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_STREAM_GATE_H_
