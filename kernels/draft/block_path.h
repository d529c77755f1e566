// The block path on the GPU: embedding, layers, and the tokens' choice (spec/drafter.md sections 4
// to 7), on the scratch's buffers and in the order of spec/dflash_scratch.md section 5.
#ifndef DRAFTMARK_KERNELS_DRAFT_BLOCK_PATH_H_
#define DRAFTMARK_KERNELS_DRAFT_BLOCK_PATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/draft/chain_runner.h"
#include "kernels/draft/context_path.h"
#include "kernels/draft/draft_parts.h"
#include "kernels/draft/stage_taps.h"
#include "kernels/paged_attention/paged_attention.h"
#include "src/base/status.h"

namespace draftmark::kernels {

// Block rows of all bands, sequence-major: band b owns rows first + [b * width, (b + 1) * width) of
// the row buffers.
struct BlockShape {
  std::uint64_t bands = 1;
  std::uint64_t width = 0;
  // Without a cache: the context rows in front. Absent from everything behind the layers.
  std::uint64_t first = 0;
  bool paged = true;

  std::uint64_t rows() const { return bands * width; }
};

// Whether the chain of a block forward takes the steps of a context pass, too: between the block's first ones,
// where neither waits for the other. Convolutions would end the chain before that pays.
bool ChainTakesContext(const DraftParts& parts, const BlockShape& shape, const ContextPass& pass);

// One block forward. Reads what the host wrote before on the same stream (with a pass in its chain
// also what that one reads, RunContextPass): ids in draft_tokens_dev, positions in position_ids,
// argument records, block tables (without a cache: context rows in fc_proj, all positions, the
// contiguous record). Neither allocates nor waits, unless `taps` is given.
class BlockPath {
 public:
  // `chain` may be null: then every step is a kernel of its own, the checked path that takes any shape.
  // `context`: a pass that belongs to the chain (ChainTakesContext), without stages; else null.
  BlockPath(const DraftParts& parts, const BlockShape& shape, ChainRunner* chain, StageTaps* taps,
            const ContextPass* context = nullptr)
      : p_(parts), c_(parts.config), shape_(shape), chain_(chain), taps_(taps), context_(context) {}

  // Leaves the residual stream after the last layer in stream_buf, but for `pending`. With a chain its last
  // steps may still be to be flushed.
  Status RunLayers();
  // Rows that are still to be added to the stream: the next norm can do it as well. Null for none.
  const BFloat16* pending() const { return pending_; }

 private:
  // The block's rows of a row buffer with `width` values a row.
  BFloat16* RowsOf(DevicePtr<BFloat16> buffer, std::uint64_t width) const {
    return buffer.get() + shape_.first * width;
  }
  Status Embed();
  Status Attention(std::uint64_t layer);
  Status Mlp(std::uint64_t layer);
  Status ProjectQueriesKeysValues(std::uint64_t layer, const BFloat16* input);
  Status ProjectContext(std::uint64_t layer);
  PagedAttentionArgs AttentionOf(std::uint64_t layer) const;
  Status TapCache(std::uint64_t layer);
  Status TapRowBuffers(std::uint64_t layer);
  // Dynamic convolution around a sublayer (DFlash2): Prepare convolves norm_buf into conv_tmp and
  // leaves the coefficients in conv_dyn; Finish convolves stream_acc into conv_tmp. *out is what to
  // read instead of the input; without convolutions that is the input.
  Status ConvPrepare(const DeviceConv& conv, const std::string& site, const BFloat16** out);
  Status ConvFinish(const DeviceConv& conv, const std::string& site, const BFloat16** out);
  Status Convolve(const DeviceConv& conv, bool prepare, const BFloat16* x, const std::string& site,
                  const BFloat16** out);
  Status TapDynamic(const std::string& site);
  // In chains: block_chain.cc.
  Status ChainLayer(std::uint64_t layer);
  Status ChainInput(std::uint64_t layer, const char* stage, DeviceMatrix norm,
                    const DeviceConv& conv, const std::string& site, StreamLinear* input);
  Status ChainOutput(std::uint64_t layer, const char* stage, StreamLinear step,
                     const DeviceConv& conv, const std::string& site);
  Status ChainQueriesKeysValues(std::uint64_t layer, StreamLinear step);
  Status ChainAttention(std::uint64_t layer);
  Status ChainWithContext(const StreamLinear& projections);
  Status TapNormed(std::uint64_t layer, const char* stage, const StreamLinear& step);
  // The block rows' part of slot_mapping_dev: behind that of a pass which is still to run.
  Slots BlockSlots() const;
  // Of `layer`, its block rows.
  Status Tap(std::uint64_t layer, const char* stage, const Shape& row_shape, const BFloat16* rows);
  Status AddToStream(const BFloat16* delta);
  Status AddLater(const BFloat16* delta);
  // What AddLater has left is added.
  Status NormStream(DeviceMatrix weight, BFloat16* normed);
  bool ProjectsTogether(std::uint64_t layer) const;
  std::uint64_t ProjectedWidth() const { return c_.q_dim() + 2 * c_.kv_dim(); }
  BFloat16* ProjectedRows() const {
    return RowsOf(p_.scratch.mlp_intermediate, c_.intermediate_size);
  }
  std::vector<StreamHeads> HeadNorms(std::uint64_t layer) const;
  std::vector<StreamHeads> FinishedHeads(std::uint64_t layer, bool normed) const;
  Status TapHeadNorms(std::uint64_t layer);
  Status FinishHeads(std::uint64_t layer);

  const DraftParts& p_;
  const DrafterConfig& c_;
  const BlockShape shape_;
  ChainRunner* const chain_;
  StageTaps* const taps_;
  const ContextPass* const context_;
  const BFloat16* pending_ = nullptr;  // rows that the stream does not have yet
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_BLOCK_PATH_H_
