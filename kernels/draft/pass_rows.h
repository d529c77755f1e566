// How many context rows the precompute pass of a draft takes.
#ifndef DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
#define DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "src/backend/session_plan.h"
#include "src/config/drafter_config.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::kernels {

// The pass that belongs to a draft: as many rows as a verification appends at most (every draft and
// the anchor, of each band), as far as one pass reaches. The pass has this many rows whatever was
// appended, so that one captured graph serves all; rows without a tail are padding.
inline std::uint64_t PassRows(const SessionPlan& plan, const DrafterConfig& config,
                              std::uint64_t width, std::uint64_t bands) {
  const std::uint64_t most = plan.layout.version() == 1
                                 ? std::min(MaxPrecomputeRows(plan.layout), kPrecomputeBatchRows)
                                 : MaxBatchedPrecomputeRows(plan.layout);
  return std::min(bands * (config.drafts(width) + 1), most);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
