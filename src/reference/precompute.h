// The context path: projects the taps of verified rows into the K/V cache. spec/drafter.md
// section 3.
#ifndef DRAFTMARK_SRC_REFERENCE_PRECOMPUTE_H_
#define DRAFTMARK_SRC_REFERENCE_PRECOMPUTE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/band_view.h"
#include "src/backend/stage_recorder.h"
#include "src/config/drafter_config.h"
#include "src/reference/paged_cache.h"
#include "src/reference/rope.h"
#include "src/reference/stage_buffers.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

template <typename N>
class ContextPrecompute {
 public:
  using Storage = typename N::Storage;

  ContextPrecompute(const DrafterConfig& config, const DrafterWeights& weights,
                    const RopeTable& rope, StageStorage<N>& storage)
      : config_(config), weights_(weights), rope_(rope), storage_(storage) {}

  // Writes rows [committed, all) of every band into the cache. Version 2 stages short tails of
  // several bands together in precompute_in; longer ones go alone, in passes that the borrowed
  // buffers allow. Everything is per row, so the grouping changes no bit.
  void Run(std::span<const BandView> bands, PagedCache<Storage>& cache, StageRecorder<N>& recorder);

  // fc and hidden_norm of all context rows of one band into fc_proj, for the path without a cache.
  // At most ctx_window rows.
  void ProjectOnly(const BandView& band, StageRecorder<N>& recorder);

 private:
  // One row of a pass: whose it is, and which of its logical indices.
  struct PassRow {
    const BandView* band;
    std::uint64_t index;
  };
  // fc and hidden_norm of one pass's rows into fc_proj.
  void ProjectTaps(std::span<const PassRow> rows, std::span<const Storage> taps,
                   StageRecorder<N>& recorder);
  void Pass(std::span<const PassRow> rows, std::span<const Storage> taps,
            PagedCache<Storage>& cache, StageRecorder<N>& recorder);
  // K of every layer into the K stage, normed and rotated; V stays in fused_kv_out.
  void ProjectKeysAndValues(std::span<const PassRow> rows, StageRecorder<N>& recorder);
  void FlushBatch(std::vector<PassRow>& batch, PagedCache<Storage>& cache,
                  StageRecorder<N>& recorder);
  void CopyTaps(std::span<const PassRow> rows, Storage* out) const;
  // After a window slide old rows are projected again; stages show the new ones only.
  static bool IsShown(const PassRow& row) {
    return row.index >= row.band->context_positions.size() - row.band->new_rows;
  }

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
  const RopeTable& rope_;
  StageStorage<N>& storage_;
};

extern template class ContextPrecompute<ExactNumeric>;
extern template class ContextPrecompute<Bf16Numeric>;

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_PRECOMPUTE_H_
