// The reference backend: the definition of right. It works in a DflashScratch on a host allocator
// (stage_buffers.h). See src/backend/draft_session.h for how to drive it, by one thread at a time.
#ifndef DRAFTMARK_SRC_REFERENCE_SESSION_H_
#define DRAFTMARK_SRC_REFERENCE_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/scratch/allocator.h"
#include "src/scratch/dflash_layout.h"
#include "src/scratch/poison.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

struct ReferenceOptions {
  std::uint64_t scratch_version = 2;                      // 1 holds one band only
  std::optional<DflashLayoutName> layout = std::nullopt;  // absent: doc (v1) or normative (v2)
  bool paged = true;              // false: no cache, context in the row buffers, one band
  Poison poison = Poison::kOnes;  // of fresh scratch and cache; no result may depend on it
  // Of scratch and cache, in memory that the host reads; it must outlive the session and poisons,
  // if at all, by itself. Null: a HostAllocator of the session's own.
  Allocator* allocator = nullptr;
};

// Opens a session on the CPU. `weights` must match `config` (LoadDrafterWeights checks that).
// Errors: INVALID_ARGUMENT for limits that cannot hold one block or an impossible rotary width,
// OUT_OF_RANGE for a cache beyond all memory, and those of the scratch's layout and allocation.
StatusOr<std::unique_ptr<DraftSession>> OpenReferenceSession(
    const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights,
    const SessionLimits& limits, Precision precision, const ReferenceOptions& options = {});

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_SESSION_H_
