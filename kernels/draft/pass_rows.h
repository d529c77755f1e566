// How many context rows the precompute pass of a draft takes.
#ifndef DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
#define DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "src/backend/session_plan.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::kernels {

// The pass that belongs to a draft of `rows` block rows: as many rows as a propose appends at most
// after a verification, as far as one pass reaches. The pass has this many rows whatever was
// appended, so that one captured graph serves all; rows without a tail are padding.
inline std::uint64_t PassRows(const SessionPlan& plan, std::uint64_t rows) {
  const std::uint64_t most = plan.layout.version() == 1
                                 ? std::min(MaxPrecomputeRows(plan.layout), kPrecomputeBatchRows)
                                 : MaxBatchedPrecomputeRows(plan.layout);
  return std::min(rows, most);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_PASS_ROWS_H_
