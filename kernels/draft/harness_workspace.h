// HarnessWorkspace: the memory that kernels need beside a DflashScratch and that the scratch's
// specification does not name. Declared field by field with a formula; never counted in the scratch.
//
//   DM_ASSIGN_OR_RETURN(const auto layout, HarnessWorkspaceLayout::Create(request));
//   layout.device_bytes();   // exact: what the ledger will show under the tags "workspace/..."
//   DM_ASSIGN_OR_RETURN(const auto workspace, HarnessWorkspace::Create(layout, allocator));
//   workspace->Get<float>("rope_frequency")
//
// Symbols of the formulas: nb bands, w the widest block (gamma), B = nb * w, ctx the context rows
// of a band, tap = L_t * h_t, P the most rows of a precompute pass inside a draft, table the blocks
// of a band, V, h, d, L, r_m as in spec/drafter.md section 1. A layout is immutable and thread-safe.
#ifndef DRAFTMARK_KERNELS_DRAFT_HARNESS_WORKSPACE_H_
#define DRAFTMARK_KERNELS_DRAFT_HARNESS_WORKSPACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/backend/session_plan.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/cuda/device_buffer.h"
#include "src/scratch/allocator.h"
#include "src/scratch/dflash_geometry.h"
#include "src/weights/weights.h"

namespace draftmark::kernels {

// Calls whose inputs may be on their way to the device at the same time.
inline constexpr std::uint64_t kStagingSlots = 4;

struct WorkspaceField {
  std::string name;
  MemoryKind kind = MemoryKind::kDevice;
  std::uint64_t bytes = 0;  // 0: this drafter does not need it, nothing is allocated
  std::string formula;      // of the bytes
};

struct WorkspaceRequest {
  const DrafterConfig* config = nullptr;
  const SessionPlan* plan = nullptr;
  SessionLimits limits;
  DrafterTensorsPresent tensors;
  MarkovType markov_type = MarkovType::kVanilla;
  bool library = true;  // cuBLASLt multiplies
  bool chains = true;   // streaming chains, where they fit
};

// Whether masks need the positions of cached rows: a causal or sliding layer, and records that
// carry the anchor's position.
bool NeedsSlotPositions(const DrafterConfig& config, const SessionPlan& plan);

class HarnessWorkspaceLayout {
 public:
  // OUT_OF_RANGE if a field's bytes exceed 2^64-1, with its name.
  static StatusOr<HarnessWorkspaceLayout> Create(const WorkspaceRequest& request);

  const std::vector<WorkspaceField>& fields() const { return fields_; }
  // Both end the process for an unknown name.
  std::size_t Index(std::string_view name) const;
  std::uint64_t BytesOf(std::string_view name) const;
  std::uint64_t device_bytes() const;
  std::uint64_t host_pinned_bytes() const;

 private:
  std::vector<WorkspaceField> fields_;
};

class HarnessWorkspace {
 public:
  // One allocation for each field, tagged "workspace/NAME". Errors are the allocator's. The
  // allocator must outlive the object.
  static StatusOr<std::unique_ptr<HarnessWorkspace>> Create(const HarnessWorkspaceLayout& layout,
                                                            Allocator& allocator);

  const HarnessWorkspaceLayout& layout() const { return layout_; }
  // Null for a field that this drafter does not need. Ends the process for an unknown name.
  template <typename T>
  T* Get(std::string_view name) const {
    return memory_[layout_.Index(name)].As<T>();
  }

 private:
  explicit HarnessWorkspace(const HarnessWorkspaceLayout& layout) : layout_(layout) {}

  const HarnessWorkspaceLayout layout_;
  std::vector<DeviceBuffer> memory_;  // as the layout's fields
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_HARNESS_WORKSPACE_H_
