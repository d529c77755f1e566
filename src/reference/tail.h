// The tail of a draft: final norm, logits, and how tokens are chosen. spec/drafter.md sections
// 5, 6.1, 6.2 and 7.2.
#ifndef DRAFTMARK_SRC_REFERENCE_TAIL_H_
#define DRAFTMARK_SRC_REFERENCE_TAIL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/band_view.h"
#include "src/backend/draft_session.h"
#include "src/backend/stage_recorder.h"
#include "src/config/drafter_config.h"
#include "src/reference/stage_buffers.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

template <typename N>
class Tail {
 public:
  using Storage = typename N::Storage;

  Tail(const DrafterConfig& config, const DrafterWeights& weights, StageStorage<N>& storage)
      : config_(config), weights_(weights), storage_(storage) {}

  // Reads the residual stream after the last layer from stream_buf, from row `first_row` on, and
  // the input ids from draft_tokens_dev, [bands * width] rows, sequence-major; leaves output ids in
  // draft_tokens_dev and fetches them through the pinned buffer.
  StatusOr<std::vector<BlockResult>> Run(std::span<const BandView> bands, std::size_t width,
                                         std::size_t first_row, StageRecorder<N>& recorder);

 private:
  // Each chooses the tokens of one band, rows [first, first + width), and writes them over its
  // input ids.
  void Plain(std::size_t first, std::size_t width, BlockResult& result);
  void Selector(std::size_t band, std::size_t first, std::size_t width, StageRecorder<N>& recorder,
                BlockResult& result);
  void Markov(std::size_t band, std::size_t first, std::size_t width, StageRecorder<N>& recorder,
              BlockResult& result);

  // The first row of a block whose output is a draft.
  std::size_t FirstDraftRow() const {
    return config_.row_convention == RowConvention::kInPlace ? 1 : 0;
  }
  std::span<Storage> LogitsOf(std::size_t row) {
    return {storage_.buffers().logits + row * config_.vocab_size, config_.vocab_size};
  }
  std::span<const Storage> HiddenOf(std::size_t row) {
    return {storage_.buffers().norm_buf + row * config_.hidden_size, config_.hidden_size};
  }

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
  StageStorage<N>& storage_;
};

extern template class Tail<ExactNumeric>;
extern template class Tail<Bf16Numeric>;

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_TAIL_H_
