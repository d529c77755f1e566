// The borrowing invariants of a DflashScratch as checked conditions (spec/dflash_scratch.md
// section 2, Borrowing invariants).
//
// The precompute pass borrows three buffers that the block forward owns, and several bands share
// the row buffers; nothing in the struct itself says how many rows still fit. Call CheckPrecompute
// and CheckBlock before each call. Order is not checkable here: a precompute pass must have
// finished on the same stream before the block forward reuses the buffers.
//
// Errors are FAILED_PRECONDITION and name the borrow, what it needs and what is there. Pure
// functions.
#ifndef DRAFTMARK_SRC_SCRATCH_DFLASH_BORROWS_H_
#define DRAFTMARK_SRC_SCRATCH_DFLASH_BORROWS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/scratch/dflash_layout.h"

namespace draftmark {

struct Borrow {
  std::string_view name;  // "K stage in mlp_intermediate"
  std::string_view unit;  // of both numbers: "elements", "bytes", "rows", "entries"
  std::uint64_t needed = 0;
  std::uint64_t available = 0;

  bool holds() const { return needed <= available; }
};

// Of one precompute pass over n rows. OUT_OF_RANGE if a need exceeds 2^64-1.
StatusOr<std::vector<Borrow>> PrecomputeBorrows(const DflashScratchLayout& layout, std::uint64_t n);
// Of a block forward of `bands` bands, `width` rows each.
StatusOr<std::vector<Borrow>> BlockBorrows(const DflashScratchLayout& layout, std::uint64_t bands,
                                           std::uint64_t width);

// 1 <= n <= ctx_window, and every borrow of a pass over n rows. All needs grow with n, so
// n = ctx_window stands for all n.
Status CheckPrecompute(const DflashScratchLayout& layout, std::uint64_t n);
// bands <= max_batch, width <= gamma, block rows fit the row buffers and the slots.
Status CheckBlock(const DflashScratchLayout& layout, std::uint64_t bands, std::uint64_t width);
// Non-paged path: eff_ctx context rows and `width` block rows in the row buffers, and the context
// rows in fc_proj.
Status CheckNonPagedBlock(const DflashScratchLayout& layout, std::uint64_t eff_ctx,
                          std::uint64_t width);

// The largest n that CheckPrecompute accepts; 0 if not even one row fits. Less than ctx_window for
// a drafter whose K and V are wide (L * kv_dim above intermediate_size): its tails go in smaller
// chunks.
std::uint64_t MaxPrecomputeRows(const DflashScratchLayout& layout);
// Of a batched pass through precompute_in (version 2): at most 256 of them.
std::uint64_t MaxBatchedPrecomputeRows(const DflashScratchLayout& layout);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DFLASH_BORROWS_H_
