#include "kernels/draft/chain_turn.h"

#include <map>
#include <mutex>
#include <utility>

#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {

struct ChainTurn::Device {
  std::mutex mutex;
  ChainTurn* last = nullptr;  // who took the last turn, and is still there

  // Never destroyed: sessions may outlive whatever is destroyed at the end of the program.
  static Device& Of(int id) {
    static std::mutex& all_mutex = *new std::mutex;
    static std::map<int, Device>& all = *new std::map<int, Device>;
    const std::lock_guard lock(all_mutex);
    return all[id];
  }
};

StatusOr<std::unique_ptr<ChainTurn>> ChainTurn::Join(cudaStream_t stream) {
  int id = 0;
  DM_RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&id), "cudaGetDevice"));
  DM_ASSIGN_OR_RETURN(CudaEvent behind, CudaEvent::Create(CudaEvent::Timing::kOff));
  return std::unique_ptr<ChainTurn>(new ChainTurn(Device::Of(id), stream, std::move(behind)));
}

ChainTurn::~ChainTurn() {
  const std::lock_guard lock(device_.mutex);
  if (device_.last == this) device_.last = nullptr;
}

Status ChainTurn::Take(const std::function<Status()>& enqueue) {
  const std::lock_guard lock(device_.mutex);
  if (device_.last != nullptr && device_.last != this) {
    // Only now, so that a session that is alone need not record each turn's end. Its owner cannot be
    // capturing: that would be a turn.
    ChainTurn& other = *device_.last;
    DM_RETURN_IF_ERROR(other.behind_.Record(other.stream_));
    DM_RETURN_IF_ERROR(
        CudaStatus(cudaStreamWaitEvent(stream_, other.behind_.get(), 0), "cudaStreamWaitEvent"));
  }
  device_.last = this;
  return enqueue();
}

}  // namespace draftmark::kernels
