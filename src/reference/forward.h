// The block path of a drafter on the CPU, written once for both precisions, on the scratch's
// buffers. Order of work, names and buffers follow spec/drafter.md section 4 and
// spec/dflash_scratch.md sections 1 and 5; the context path is in precompute.h, the choice of
// tokens in tail.h.
#ifndef DRAFTMARK_SRC_REFERENCE_FORWARD_H_
#define DRAFTMARK_SRC_REFERENCE_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/backend/band_view.h"
#include "src/backend/draft_session.h"
#include "src/backend/stage_recorder.h"
#include "src/config/drafter_config.h"
#include "src/reference/attention.h"
#include "src/reference/paged_cache.h"
#include "src/reference/rope.h"
#include "src/reference/stage_buffers.h"
#include "src/reference/tail.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

template <typename N>
class Forward {
 public:
  using Storage = typename N::Storage;

  Forward(const DrafterConfig& config, const DrafterWeights& weights, const RopeTable& rope,
          StageStorage<N>& storage)
      : config_(config),
        weights_(weights),
        rope_(rope),
        storage_(storage),
        tail_(config, weights, storage) {}

  // Runs one block for each band, keys and values in the paged cache.
  StatusOr<std::vector<BlockResult>> RunPaged(std::span<const BandView> bands,
                                              std::span<const BlockRequest> requests,
                                              PagedCache<Storage>& cache,
                                              StageRecorder<N>& recorder);

  // The fallback without a cache (section 3, first seed): one band, its context and its block
  // together in the row buffers, one row per slot; context rows have K and V only, their queries
  // are zero. fc_proj holds the normed context rows [C, h]. Same drafts as RunPaged.
  StatusOr<std::vector<BlockResult>> RunContiguous(const BandView& band,
                                                   const BlockRequest& request,
                                                   StageRecorder<N>& recorder);

 private:
  // Block rows of all bands, sequence-major: band b owns rows first + [b * width, (b + 1) * width)
  // of the row buffers.
  struct Block {
    std::span<const BandView> bands;
    std::size_t width = 0;
    std::size_t first = 0;                 // context rows in front: 0 on the paged path
    PagedCache<Storage>* cache = nullptr;  // paged path only
    std::size_t rows() const { return bands.size() * width; }
  };
  // The block's rows of a row buffer with `width` values a row.
  static std::span<Storage> RowsOf(const Block& block, Storage* buffer, std::size_t width) {
    return {buffer + block.first * width, block.rows() * width};
  }

  // Everything the host writes before a captured region would start (spec/dflash_scratch.md
  // section 5, step 3).
  void WriteInputs(const Block& block, std::span<const BlockRequest> requests);
  StatusOr<std::vector<BlockResult>> RunLayers(Block block, StageRecorder<N>& recorder);
  void Embed(const Block& block);
  void Attention(std::uint64_t layer, const Block& block, StageRecorder<N>& recorder);
  void Mlp(std::uint64_t layer, const Block& block, StageRecorder<N>& recorder);

  void ProjectQueriesKeysValues(std::uint64_t layer, const Block& block, const Storage* input,
                                StageRecorder<N>& recorder);
  void WriteBlockToCache(std::uint64_t layer, const Block& block);
  void AttendPaged(std::uint64_t layer, const Block& block, std::size_t band,
                   StageRecorder<N>& recorder);
  void ProjectContext(std::uint64_t layer, const Block& block, StageRecorder<N>& recorder);
  void AttendContiguous(std::uint64_t layer, const Block& block, StageRecorder<N>& recorder);
  Visibility VisibilityOf(std::uint64_t layer) const;
  AttentionShape ShapeOf(std::uint64_t layer) const;

  // Dynamic convolution around a sublayer (DFlash2): Prepare convolves norm_buf into conv_tmp and
  // leaves the coefficients in conv_dyn; Finish convolves stream_acc into conv_tmp. Each returns
  // what to read instead of its input; without convolutions that is the input.
  const Storage* ConvPrepare(const ConvWeights& conv, const std::string& site, const Block& block,
                             StageRecorder<N>& recorder);
  const Storage* ConvFinish(const ConvWeights& conv, const std::string& site, const Block& block,
                            StageRecorder<N>& recorder);

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
  const RopeTable& rope_;
  StageStorage<N>& storage_;
  Tail<N> tail_;
};

extern template class Forward<ExactNumeric>;
extern template class Forward<Bf16Numeric>;

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_FORWARD_H_
