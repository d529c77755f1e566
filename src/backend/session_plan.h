// What a session of given limits needs: the scratch's layout and the size of the K/V cache.
//
// Rules: spec/dflash_scratch.md section 1, spec/drafter.md section 3.8. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_BACKEND_SESSION_PLAN_H_
#define DRAFTMARK_SRC_BACKEND_SESSION_PLAN_H_

#include <cstdint>
#include <optional>

#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/scratch/dflash_layout.h"

namespace draftmark {

struct SessionPlanOptions {
  std::uint64_t scratch_version = 2;                      // 1 holds one band only
  std::optional<DflashLayoutName> layout = std::nullopt;  // absent: doc (v1) or normative (v2)
  bool paged = true;           // false: no cache, context in the row buffers, one band
  bool batched_heads = false;  // conf_out for every band
  std::uint64_t cache_element_bytes = 2;
};

struct SessionPlan {
  DflashScratchLayout layout;
  bool paged = true;
  std::uint64_t blocks_per_band = 0;
  // One more than the bands need, as an engine has: block 0 belongs to nobody.
  std::uint64_t cache_blocks = 0;

  std::uint64_t cache_slots() const;
};

// `tensors`: which heads the drafter's weights have. INVALID_ARGUMENT for limits that cannot hold
// one block or several bands without a cache, or more candidates than the scratch has room for;
// OUT_OF_RANGE for a cache beyond all memory or beyond 32-bit slots where the layout has such;
// those of the scratch's layout.
StatusOr<SessionPlan> PlanSession(const DrafterConfig& config, const DrafterTensorsPresent& tensors,
                                  const SessionLimits& limits, const SessionPlanOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_SESSION_PLAN_H_
