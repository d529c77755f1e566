// The tail of a draft: final norm, logits, and how tokens are chosen. spec/drafter.md sections
// 5, 6.1, 6.2 and 7.2.
#ifndef DRAFTMARK_SRC_REFERENCE_TAIL_H_
#define DRAFTMARK_SRC_REFERENCE_TAIL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/config/drafter_config.h"
#include "src/reference/band_view.h"
#include "src/reference/stage_recorder.h"
#include "src/reference/weights.h"

namespace draftmark::reference {

template <typename N>
class Tail {
 public:
  using Storage = typename N::Storage;

  Tail(const DrafterConfig& config, const DrafterWeights& weights)
      : config_(config), weights_(weights) {}

  // `stream` is the residual stream after the last layer, [bands * width, h], sequence-major.
  std::vector<BlockResult> Run(std::span<const BandView> bands,
                               std::span<const BlockRequest> requests,
                               std::span<const Storage> stream, StageRecorder<N>& recorder) const;

 private:
  // One band: its post-norm rows [width, h] and its logits [width, V].
  struct TailRows {
    std::size_t band = 0;
    std::uint32_t anchor = 0;
    std::size_t width = 0;
    std::span<const Storage> normed;
    std::span<const Storage> logits;
  };
  BlockResult Plain(const TailRows& rows) const;
  BlockResult Selector(const TailRows& rows, StageRecorder<N>& recorder) const;
  BlockResult Markov(const TailRows& rows, StageRecorder<N>& recorder) const;

  // The first row whose output is a draft.
  std::size_t FirstDraftRow() const {
    return config_.row_convention == RowConvention::kInPlace ? 1 : 0;
  }

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
};

extern template class Tail<ExactNumeric>;
extern template class Tail<Bf16Numeric>;

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_TAIL_H_
