#include "src/scratch/dflash_borrows.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/checked.h"

namespace draftmark {
namespace {

Status Append(std::string_view name, std::string_view unit, CheckedU64 needed,
              std::uint64_t available, std::vector<Borrow>& borrows) {
  if (!needed.ok()) {
    return OutOfRangeError(fmt::format("{}: needs more than 2^64-1 {} (overflow)", name, unit));
  }
  borrows.push_back({name, unit, needed.value(), available});
  return OkStatus();
}

Status CheckAll(const std::vector<Borrow>& borrows) {
  for (const Borrow& borrow : borrows) {
    if (!borrow.holds()) {
      return FailedPreconditionError(fmt::format("{}: needs {} {}, but there are {}", borrow.name,
                                                 borrow.needed, borrow.unit, borrow.available));
    }
  }
  return OkStatus();
}

Status CheckRange(std::string_view name, std::uint64_t value, std::uint64_t limit,
                  std::string_view limit_name) {
  if (value >= 1 && value <= limit) return OkStatus();
  return FailedPreconditionError(
      fmt::format("{}: expected 1 to {} ({}), found {}", name, limit, limit_name, value));
}

}  // namespace

StatusOr<std::vector<Borrow>> PrecomputeBorrows(const DflashScratchLayout& layout,
                                                std::uint64_t n) {
  const CheckedU64 stages = CheckedU64(layout.geometry().num_hidden_layers) * n;  // L*n
  std::vector<Borrow> borrows;
  DM_RETURN_IF_ERROR(Append("K stage in mlp_intermediate", "elements", stages * layout.kv_dim(),
                            layout.Field("mlp_intermediate").bytes / 2, borrows));
  DM_RETURN_IF_ERROR(Append("positions in norm_buf", "bytes", stages * 4,
                            layout.Field("norm_buf").bytes, borrows));
  DM_RETURN_IF_ERROR(Append("V stage in v_buf", "rows", n, layout.rows(), borrows));
  return borrows;
}

StatusOr<std::vector<Borrow>> BlockBorrows(const DflashScratchLayout& layout, std::uint64_t bands,
                                           std::uint64_t width) {
  const CheckedU64 block_rows = CheckedU64(bands) * width;
  std::vector<Borrow> borrows;
  DM_RETURN_IF_ERROR(
      Append("block rows in the row buffers", "rows", block_rows, layout.rows(), borrows));
  DM_RETURN_IF_ERROR(Append("block slots in slot_mapping_dev", "entries", block_rows,
                            layout.slot_entries(), borrows));
  return borrows;
}

Status CheckPrecompute(const DflashScratchLayout& layout, std::uint64_t n) {
  DM_RETURN_IF_ERROR(CheckRange("precompute rows", n, layout.ctx_window(), "ctx_window"));
  DM_ASSIGN_OR_RETURN(const std::vector<Borrow> borrows, PrecomputeBorrows(layout, n));
  return CheckAll(borrows);
}

Status CheckBlock(const DflashScratchLayout& layout, std::uint64_t bands, std::uint64_t width) {
  DM_RETURN_IF_ERROR(CheckRange("bands", bands, layout.max_batch(), "max_batch"));
  DM_RETURN_IF_ERROR(CheckRange("block width", width, layout.gamma(), "gamma"));
  DM_ASSIGN_OR_RETURN(const std::vector<Borrow> borrows, BlockBorrows(layout, bands, width));
  return CheckAll(borrows);
}

Status CheckNonPagedBlock(const DflashScratchLayout& layout, std::uint64_t eff_ctx,
                          std::uint64_t width) {
  DM_RETURN_IF_ERROR(CheckRange("block width", width, layout.gamma(), "gamma"));
  std::vector<Borrow> borrows;
  DM_RETURN_IF_ERROR(Append("context and block rows in the row buffers", "rows",
                            CheckedU64(eff_ctx) + width, layout.rows(), borrows));
  // A narrow block leaves room in the row buffers, but the projected context has none to spare.
  DM_RETURN_IF_ERROR(
      Append("context rows in fc_proj", "rows", eff_ctx, layout.ctx_window(), borrows));
  return CheckAll(borrows);
}

std::uint64_t MaxPrecomputeRows(const DflashScratchLayout& layout) {
  std::uint64_t low = 0;  // holds (no rows need nothing)
  std::uint64_t high = layout.ctx_window();
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (CheckPrecompute(layout, middle).ok()) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::uint64_t MaxBatchedPrecomputeRows(const DflashScratchLayout& layout) {
  return std::min(kPrecomputeBatchRows, MaxPrecomputeRows(layout));
}

}  // namespace draftmark
