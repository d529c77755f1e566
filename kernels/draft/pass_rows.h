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
// the anchor, of each band), as far as one pass reaches.
inline std::uint64_t PassRows(std::uint64_t longest, const DrafterConfig& config,
                              std::uint64_t width, std::uint64_t bands) {
  return std::min({bands * (config.drafts(width) + 1), longest, kPrecomputeBatchRows});
}

// Half of such a pass, for drafts of which but few tokens were accepted; 0 where kernels gain nothing by it.
// By the library or by chains, a row's bits depend on which pass it is in.
constexpr std::uint64_t HalfPassRows(std::uint64_t most) {
  constexpr std::uint64_t kLeast = 8;  // rows that kernels take at a time at least
  const std::uint64_t half = (most + 1) / 2;
  return half >= kLeast ? half : 0;
}

// A pass of `rows` rows has that many, and as many of padding as make it one of these two sizes, so that two
// captured graphs serve all.
constexpr std::uint64_t PaddedPassRows(std::uint64_t rows, std::uint64_t most) {
  return rows <= HalfPassRows(most) ? HalfPassRows(most) : most;
}
static_assert(PaddedPassRows(8, 16) == 8 && PaddedPassRows(9, 16) == 16 &&
              PaddedPassRows(3, 8) == 8 && PaddedPassRows(1, 128) == 64 &&
              PaddedPassRows(65, 128) == 128);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
