// Whose turn it is on a device: sessions whose kernels need all SMs at once (kernels/stream_chain) must not
// run at the same time, or they wait for each other for ever.
//
//   DM_ASSIGN_OR_RETURN(const std::unique_ptr<ChainTurn> turn, ChainTurn::Join(stream));
//   DM_RETURN_IF_ERROR(turn->Take([&] { return Launch(...); }));
//
// What a session enqueues in its turn runs behind what others of the process have enqueued on the current
// device in theirs: the streams wait, not the host. A session that is alone pays for a lock and nothing else.
// Processes take turns by themselves, but for those of a multi-process service. Thread-safe; Take and the
// destructor of one object are for one thread at a time. Errors are those of CUDA and of what is launched.
#ifndef DRAFTMARK_KERNELS_DRAFT_CHAIN_TURN_H_
#define DRAFTMARK_KERNELS_DRAFT_CHAIN_TURN_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "src/base/status.h"
#include "src/cuda/stream.h"

namespace draftmark::kernels {

class ChainTurn {
 public:
  // `stream` must outlive the object, and have nothing of a turn in flight when that is destroyed.
  static StatusOr<std::unique_ptr<ChainTurn>> Join(cudaStream_t stream);
  ~ChainTurn();
  ChainTurn(const ChainTurn&) = delete;
  ChainTurn& operator=(const ChainTurn&) = delete;

  // Calls `enqueue`, which puts its work on the stream, or captures it.
  Status Take(const std::function<Status()>& enqueue);

 private:
  struct Device;

  ChainTurn(Device& device, cudaStream_t stream, CudaEvent behind)
      : device_(device), stream_(stream), behind_(std::move(behind)) {}

  Device& device_;
  const cudaStream_t stream_;
  CudaEvent behind_;  // the last turn
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_CHAIN_TURN_H_
