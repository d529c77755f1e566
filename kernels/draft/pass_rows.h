// How many context rows a precompute pass takes.
#ifndef DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
#define DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/device/arguments.h"
#include "src/backend/session_plan.h"
#include "src/config/drafter_config.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::kernels {

// The longest pass: as far as the borrowed buffers reach, and as many rows as one launch takes.
inline std::uint64_t LongestPass(const SessionPlan& plan) {
  return std::min(MaxPrecomputeRows(plan.layout), static_cast<std::uint64_t>(kMostBlocksYZ));
}

// The pass that belongs to a draft: as many rows as a verification appends at most (every draft and
// the anchor, of each band), as far as one pass reaches. The pass has this many rows whatever was
// appended, so that one captured graph serves all; rows without a tail are padding.
inline std::uint64_t PassRows(std::uint64_t longest, const DrafterConfig& config,
                              std::uint64_t width, std::uint64_t bands) {
  return std::min({bands * (config.drafts(width) + 1), longest, kPrecomputeBatchRows});
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
