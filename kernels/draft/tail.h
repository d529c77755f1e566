// The tail on the GPU: final norm, LM head, and the choice of tokens (spec/drafter.md sections 5 to
// 7), ending with the copies to page-locked memory.
#ifndef DRAFTMARK_KERNELS_DRAFT_TAIL_H_
#define DRAFTMARK_KERNELS_DRAFT_TAIL_H_

#include <cstdint>
#include <vector>

#include "kernels/draft/block_path.h"
#include "kernels/draft/draft_parts.h"
#include "kernels/draft/stage_taps.h"
#include "src/base/status.h"

namespace draftmark::kernels {

// Reads the residual stream from stream_buf and input ids from draft_tokens_dev, leaves output ids
// there, and copies tokens and confidence logits to the host. Neither allocates nor waits, unless
// `taps` is given.
class Tail {
 public:
  // `chain`: that of the block path, if it had one; `pending`: what that left to be added to the stream.
  Tail(const DraftParts& parts, const BlockShape& shape, ChainRunner* chain, StageTaps* taps,
       const BFloat16* pending)
      : p_(parts), c_(parts.config), shape_(shape), chain_(chain), taps_(taps), pending_(pending) {}

  Status Run();
  // Best minus second-best score of each draft of each band; only with taps.
  const std::vector<std::vector<double>>& margins() const { return margins_; }

  // The first row of a block whose output is a draft.
  static std::uint64_t FirstDraftRow(const DrafterConfig& config) {
    return config.row_convention == RowConvention::kInPlace ? 1 : 0;
  }

 private:
  // The selector takes precedence over a Markov head; without either, tokens are the rows' greatest logits.
  bool HasSelector() const { return p_.weights.selector.predecessor != nullptr; }
  bool IsPlain() const { return !HasSelector() && p_.weights.markov.w1 == nullptr; }
  Status Logits();
  Status ChainLogits();
  Status Selector();
  Status Markov();
  Status Plain();
  Status Confidence(std::uint64_t first_row, std::uint64_t rows, std::uint64_t row_step,
                    const BFloat16* embedding);
  // Token of row `first_row` of each band (row_step = width), or of all rows (row_step = 1).
  Status Argmax(std::uint64_t first_row, std::uint64_t rows, std::uint64_t row_step,
                std::uint32_t* tokens);
  Status CopyToHost();
  // Stages of the choice, which are not stored as they are shown.
  Status TapSelector();
  Status TapMargins();
  Status TapConfidence();

  const DraftParts& p_;
  const DrafterConfig& c_;
  const BlockShape shape_;
  ChainRunner* const chain_;
  StageTaps* const taps_;
  const BFloat16* const pending_;
  std::vector<std::vector<double>> margins_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TAIL_H_
