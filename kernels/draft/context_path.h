// The context path on the GPU: from taps to K and V rows in the cache (spec/drafter.md section 3).
#ifndef DRAFTMARK_KERNELS_DRAFT_CONTEXT_PATH_H_
#define DRAFTMARK_KERNELS_DRAFT_CONTEXT_PATH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/draft/draft_parts.h"
#include "kernels/draft/stage_taps.h"
#include "kernels/stream_chain/stream_chain.h"
#include "src/base/status.h"

namespace draftmark::kernels {

// Rows of one pass. Their slots lie in slot_mapping_dev [rows] and their positions, once for each
// layer, in norm_buf as I32 [L * rows] (borrowed, spec/dflash_scratch.md section 2), both written
// before on the same stream. A row with a negative slot is padding.
struct ContextPass {
  const BFloat16* taps = nullptr;  // [rows, L_t * h_t]
  std::uint64_t rows = 0;
  std::uint64_t first = 0;  // where they begin in fc_proj, on the path without a cache
  std::span<const StageTaps::PassRow> shown = {};  // the rows that are no padding; for taps only
};

// fc and hidden_norm into fc_proj [rows, h]. `stage_taps` may be null.
Status ProjectTaps(const DraftParts& parts, const ContextPass& pass, StageTaps* stage_taps);
// The steps of a pass that runs in a chain, each needing the one before: fc, which leaves its rows' sums of
// squares in `sums` [StreamChainRowParts(), 16]; keys and values of all layers, with hidden_norm in front;
// norms, RoPE and copies to the cache.
struct ContextSteps {
  StreamLinear taps;
  StreamLinear keys_values;
  std::vector<StreamHeads> heads;
};
ContextSteps StepsOfContext(const DraftParts& parts, const ContextPass& pass, float* sums);
// The whole pass: K of every layer gathered in mlp_intermediate (borrowed), normed and rotated; V
// goes to the cache from where the fused product left it.
Status RunContextPass(const DraftParts& parts, const ContextPass& pass, StageTaps* stage_taps);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_CONTEXT_PATH_H_
