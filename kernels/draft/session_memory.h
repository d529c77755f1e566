// What a session on the GPU owns: scratch, cache, workspace, events, staging.
#ifndef DRAFTMARK_KERNELS_DRAFT_SESSION_MEMORY_H_
#define DRAFTMARK_KERNELS_DRAFT_SESSION_MEMORY_H_

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>

#include "kernels/draft/draft_parts.h"
#include "kernels/draft/harness_workspace.h"
#include "kernels/draft/input_slot.h"
#include "src/base/status.h"
#include "src/cuda/cuda_event_source.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/stream.h"
#include "src/scratch/dflash_scratch.h"

namespace draftmark::kernels {

// The slots in which inputs travel to the device, used in turns.
class InputSlots {
 public:
  static StatusOr<InputSlots> Create(std::byte* memory, const SessionPlan& plan,
                                     const SessionLimits& limits, const DrafterConfig& config);

  // The next slot; waits for its copies if they may still be on their way.
  StatusOr<InputSlot*> Acquire();
  // Whatever reads the acquired slot is on the stream.
  Status Release(cudaStream_t stream);
  // An event stands on the stream behind all slots taken so far, ...
  void Mark() { marked_ = taken_; }
  // ... and the host has waited for it.
  void MarkReached();

 private:
  std::vector<InputSlot> slots_;
  std::vector<CudaEvent> copied_;
  std::array<std::uint64_t, kStagingSlots> ticket_{};  // of each slot's last use; 0: free
  std::uint64_t taken_ = 0;
  std::uint64_t marked_ = 0;
  std::size_t current_ = 0;
};

class SessionStorage {
 public:
  // Allocates everything; the rope table and what else is constant is on the device when it returns.
  static StatusOr<std::unique_ptr<SessionStorage>> Create(const DrafterConfig& config,
                                                          const DraftWeights& weights,
                                                          const SessionPlan& plan,
                                                          const SessionLimits& limits,
                                                          Allocator& allocator, bool library,
                                                          bool chains, const RopeTable& rope);

  const DflashScratch& scratch() const { return scratch_->scratch(); }
  EventSource& events() { return events_; }
  InputSlots& inputs() { return *inputs_; }
  CachePools pools() const { return pools_; }
  WorkspaceView view() const;
  const HarnessWorkspaceLayout& workspace_layout() const { return workspace_->layout(); }
  std::uint64_t cache_bytes() const { return keys_.bytes() + values_.bytes(); }
  cudaStream_t stream() const { return stream_->get(); }

 private:
  SessionStorage() = default;
  Status AllocateCache(const DrafterConfig& config, const SessionPlan& plan, Allocator& allocator);
  Status UploadConstants(const SessionPlan& plan, const RopeTable& rope);

  std::optional<CudaStream> stream_;
  CudaEventSource events_;
  std::unique_ptr<DflashScratchMemory> scratch_;
  DeviceBuffer keys_, values_;
  CachePools pools_;
  std::unique_ptr<HarnessWorkspace> workspace_;
  std::optional<InputSlots> inputs_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_SESSION_MEMORY_H_
