#include "src/reference/forward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/faults/fault.h"
#include "src/reference/conv.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"

namespace draftmark::reference {

template <typename N>
void Forward<N>::WriteInputs(const Block& block, std::span<const BlockRequest> requests) {
  StageBuffers<N>& b = storage_.buffers();
  for (std::size_t band = 0; band < block.bands.size(); ++band) {
    const BandView& view = block.bands[band];
    const std::uint64_t context = view.context_positions.size();
    for (std::size_t j = 0; j < block.width; ++j) {
      const std::size_t row = band * block.width + j;
      b.draft_tokens_dev[row] = requests[band].tokens[j];
      b.position_ids[block.first + row] =
          static_cast<std::int32_t>(requests[band].start + static_cast<std::int64_t>(j));
      if (DM_FAULT(kBlockPositionFromSlot)) {
        b.position_ids[block.first + row] = static_cast<std::int32_t>(context + j);
      }
      if (block.cache != nullptr) b.SetSlot(row, SlotOf(view.block_table, context + j));
    }
    if (DM_FAULT(kStaleArguments) && view.committed > 0) continue;  // captured with the graph
    std::uint32_t* const record = b.arguments + band * b.argument_words;
    record[0] = static_cast<std::uint32_t>(context + block.width);  // kv_len
    record[1] = static_cast<std::uint32_t>(context);                // q_offset
    if (b.argument_words > 2)
      record[2] = static_cast<std::uint32_t>(requests[band].start);  // q_rope_pos
  }
}

template <typename N>
void Forward<N>::Embed(const Block& block) {
  StageBuffers<N>& b = storage_.buffers();
  const std::size_t h = config_.hidden_size;
  const std::span<Storage> stream = RowsOf(block, b.stream_buf, h);
  for (std::size_t row = 0; row < block.rows(); ++row) {
    const bool mask = row % block.width > 0 && !weights_.mask_embedding.empty();
    EmbedRow<N>(
        mask ? weights_.mask_embedding.values() : weights_.embed.row(b.draft_tokens_dev[row]),
        config_.input_embedding_scale, stream.subspan(row * h, h));
  }
}

template <typename N>
const typename N::Storage* Forward<N>::ConvPrepare(const ConvWeights& conv, const std::string& site,
                                                   const Block& block, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const std::span<Storage> normed = RowsOf(block, b.norm_buf, config_.hidden_size);
  if (config_.conv_kernel_size == 0) return normed.data();
  const std::size_t taps = config_.conv_kernel_size;
  const std::size_t groups = config_.hidden_size / config_.conv_group_size;
  const std::span<Storage> dynamic(b.conv_dyn, block.rows() * 2 * taps * groups);
  const std::span<Storage> out(b.conv_tmp, normed.size());
  Linear<N>(normed, block.rows(), conv.kernel_projection, {}, b.conv_dyn, 2 * taps * groups);
  recorder.EmitRows(site + ".dynamic", {2, taps, groups}, block.bands, dynamic);
  ApplyConv<N>(normed, dynamic, conv.base_kernel, ConvSide::kPrepare, taps, config_.conv_group_size,
               block.width, out);
  recorder.EmitRows(site + ".prepare", {config_.hidden_size}, block.bands, out);
  return out.data();
}

template <typename N>
const typename N::Storage* Forward<N>::ConvFinish(const ConvWeights& conv, const std::string& site,
                                                  const Block& block, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const std::span<Storage> output = RowsOf(block, b.stream_acc, config_.hidden_size);
  if (config_.conv_kernel_size == 0) return output.data();
  const std::size_t taps = config_.conv_kernel_size;
  const std::size_t groups = config_.hidden_size / config_.conv_group_size;
  const std::span<Storage> out(b.conv_tmp, output.size());
  ApplyConv<N>(output, {b.conv_dyn, block.rows() * 2 * taps * groups}, conv.base_kernel,
               ConvSide::kFinish, taps, config_.conv_group_size, block.width, out);
  recorder.EmitRows(site + ".finish", {config_.hidden_size}, block.bands, out);
  return out.data();
}

template <typename N>
void Forward<N>::ProjectQueriesKeysValues(std::uint64_t layer, const Block& block,
                                          const Storage* input, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t rows = block.rows();
  const std::size_t d = config_.head_dim;
  const std::size_t q_dim = config_.q_dim();
  const std::size_t kv_dim = config_.kv_dim();
  const std::span<const Storage> x(input, rows * config_.hidden_size);
  const std::span<Storage> q = RowsOf(block, b.q_buf, q_dim);
  const std::span<Storage> k = RowsOf(block, b.k_buf, kv_dim);
  Linear<N>(x, rows, w.q_proj, w.q_bias.values(), q.data(), q_dim);
  Linear<N>(x, rows, w.k_proj, w.k_bias.values(), k.data(), kv_dim);
  Linear<N>(x, rows, w.v_proj, w.v_bias.values(), RowsOf(block, b.v_buf, kv_dim).data(), kv_dim);
  RmsNorm<N>(q, rows * config_.num_attention_heads, d, w.q_norm.values(), config_.rms_norm_eps, q);
  RmsNorm<N>(k, rows * config_.num_key_value_heads, d, w.k_norm.values(), config_.rms_norm_eps, k);
  if (DM_FAULT(kValuesNormed)) {
    const std::span<Storage> v = RowsOf(block, b.v_buf, kv_dim);
    RmsNorm<N>(v, rows * config_.num_key_value_heads, d, w.k_norm.values(), config_.rms_norm_eps,
               v);
  }
  if (DM_FAULT(kValuesRotated)) {
    const std::span<Storage> v = RowsOf(block, b.v_buf, kv_dim);
    for (std::size_t at = 0; at < v.size(); at += d)
      RotateHead<N>(rope_, b.position_ids[block.first + at / kv_dim], v.subspan(at, d));
  }
  recorder.EmitRows(LayerStage(layer, "q_norm"), {config_.num_attention_heads, d}, block.bands, q);
  recorder.EmitRows(LayerStage(layer, "k_norm"), {config_.num_key_value_heads, d}, block.bands, k);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t position = b.position_ids[block.first + row];
    for (std::size_t at = 0; at < q_dim; at += d)
      RotateHead<N>(rope_, position, q.subspan(row * q_dim + at, d));
    for (std::size_t at = 0; at < kv_dim; at += d)
      RotateHead<N>(rope_, position, k.subspan(row * kv_dim + at, d));
  }
}

template <typename N>
Visibility Forward<N>::VisibilityOf(std::uint64_t layer) const {
  Visibility visibility;
  visibility.causal = config_.layer_causal[layer];
  visibility.sliding = config_.layer_types[layer] == LayerType::kSlidingAttention;
  // A window beyond every distance is no window; beyond int64 it must not turn negative.
  visibility.window = static_cast<std::int64_t>(std::min<std::uint64_t>(
      config_.sliding_window.value_or(0), std::numeric_limits<std::int64_t>::max()));
  return visibility;
}

template <typename N>
AttentionShape Forward<N>::ShapeOf(std::uint64_t layer) const {
  return {config_.num_attention_heads, config_.num_key_value_heads, config_.head_dim,
          weights_.layers[layer].sinks.values()};
}

template <typename N>
void Forward<N>::WriteBlockToCache(std::uint64_t layer, const Block& block) {
  StageBuffers<N>& b = storage_.buffers();
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t rows = block.rows() - (DM_FAULT(kDroppedRow) ? 1 : 0);
  for (std::size_t row = 0; row < rows; ++row) {
    block.cache->Write(layer, b.Slot(row), {b.k_buf + row * kv_dim, kv_dim},
                       {b.v_buf + row * kv_dim, kv_dim});
  }
}

template <typename N>
void Forward<N>::AttendPaged(std::uint64_t layer, const Block& block, std::size_t band,
                             StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const BandView& view = block.bands[band];
  const PagedCache<Storage>& cache = *block.cache;
  const std::size_t first = band * block.width;
  const std::size_t q_dim = config_.q_dim();
  // As the kernel does: the band's record says how many keys there are and where its own begin.
  const std::uint32_t* const record =
      b.arguments + (DM_FAULT(kFirstBandsArguments) ? 0 : band) * b.argument_words;
  const std::size_t kv_len = record[0];
  std::size_t q_offset = record[1];
  if (DM_FAULT(kFirstBandsArguments)) q_offset = std::min(q_offset, view.context_positions.size());
  for (const char* stage : {"k_new", "v_new"}) {
    const std::string name = LayerStage(layer, stage);
    for (std::size_t m = q_offset - view.new_rows; m < kv_len; ++m) {
      const std::int64_t slot = SlotOf(view.block_table, m);
      recorder.Hold(view.band, name,
                    stage[0] == 'k' ? cache.Key(layer, slot) : cache.Value(layer, slot));
    }
    recorder.EmitHeld(view.band, name, {config_.num_key_value_heads, config_.head_dim});
  }
  // Masks compare positions where the record carries the anchor's. A pair (version 1) does not:
  // then both sides are counted in slots, with q_offset for the anchor (section 4.5), which is the
  // same while the history has no gap.
  const bool by_position = b.argument_words > 2;
  const std::int64_t anchor = by_position ? record[2] : static_cast<std::int64_t>(q_offset);
  std::vector<std::int64_t> row_positions, key_positions;
  for (std::size_t m = 0; m < q_offset; ++m) {
    key_positions.push_back(by_position ? view.context_positions[m] : static_cast<std::int64_t>(m));
  }
  for (std::size_t j = 0; j < block.width; ++j) {
    row_positions.push_back(anchor + static_cast<std::int64_t>(j));
    key_positions.push_back(row_positions.back());
  }
  PagedAttention<N>({b.q_buf + first * q_dim, block.width * q_dim}, ShapeOf(layer), cache, layer,
                    DM_FAULT(kFirstBandsTable) ? block.bands[0].block_table : view.block_table,
                    row_positions, key_positions, VisibilityOf(layer),
                    {b.attn_out + first * q_dim, block.width * q_dim});
}

template <typename N>
void Forward<N>::ProjectContext(std::uint64_t layer, const Block& block,
                                StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const LayerWeights& w = weights_.layers[layer];
  const BandView& view = block.bands.front();
  const std::size_t n = block.first;
  const std::size_t d = config_.head_dim;
  const std::size_t kv_dim = config_.kv_dim();
  const std::span<const Storage> context(b.fc_proj, n * config_.hidden_size);
  const std::span<Storage> k(b.k_buf, n * kv_dim);
  Linear<N>(context, n, w.k_proj, w.k_bias.values(), b.k_buf, kv_dim);
  Linear<N>(context, n, w.v_proj, w.v_bias.values(), b.v_buf, kv_dim);
  RmsNorm<N>(k, n * config_.num_key_value_heads, d, w.k_norm.values(), config_.rms_norm_eps, k);
  recorder.Hold(view.band, LayerStage(layer, "k_norm"), k.subspan((n - view.new_rows) * kv_dim));
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t at = 0; at < kv_dim; at += d) {
      RotateHead<N>(rope_, b.position_ids[row], k.subspan(row * kv_dim + at, d));
    }
  }
  // "Q is zero-padded": the kernel has one row per slot, and nobody reads what it makes of these.
  std::fill_n(b.q_buf, n * config_.q_dim(),
              N::Store(DM_FAULT(kPaddedRowsPropagate) ? std::nan("") : 0));
}

template <typename N>
void Forward<N>::AttendContiguous(std::uint64_t layer, const Block& block,
                                  StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const BandView& view = block.bands.front();
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t q_dim = config_.q_dim();
  const std::size_t slots = block.first + block.width;
  const std::size_t shown = block.first - view.new_rows;
  const Shape row_shape = {config_.num_key_value_heads, config_.head_dim};
  recorder.Emit(view.band, LayerStage(layer, "k_new"), row_shape,
                {b.k_buf + shown * kv_dim, (slots - shown) * kv_dim});
  recorder.Emit(view.band, LayerStage(layer, "v_new"), row_shape,
                {b.v_buf + shown * kv_dim, (slots - shown) * kv_dim});
  const std::vector<std::int64_t> positions(b.position_ids, b.position_ids + slots);
  Attend<N>(
      {b.q_buf, slots * q_dim}, ShapeOf(layer),
      [&](std::size_t m) { return std::span<const Storage>(b.k_buf + m * kv_dim, kv_dim); },
      [&](std::size_t m) { return std::span<const Storage>(b.v_buf + m * kv_dim, kv_dim); },
      positions, positions, VisibilityOf(layer), {b.attn_out, slots * q_dim});
}

template <typename N>
void Forward<N>::Attention(std::uint64_t layer, const Block& block, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t rows = block.rows();
  const std::size_t h = config_.hidden_size;
  const std::span<Storage> stream = RowsOf(block, b.stream_buf, h);
  const std::span<Storage> normed = RowsOf(block, b.norm_buf, h);
  const std::span<Storage> attended = RowsOf(block, b.attn_out, config_.q_dim());
  const std::span<Storage> projected = RowsOf(block, b.stream_acc, h);
  RmsNorm<N>(stream, rows, h, w.input_layernorm.values(), config_.rms_norm_eps, normed);
  recorder.EmitRows(LayerStage(layer, "input_layernorm"), {h}, block.bands, normed);
  const std::string site = LayerStage(layer, "attention_conv");
  const Storage* const input = ConvPrepare(w.attention_conv, site, block, recorder);
  if (block.cache != nullptr) {
    ProjectQueriesKeysValues(layer, block, input, recorder);
    WriteBlockToCache(layer, block);
    for (std::size_t band = 0; band < block.bands.size(); ++band)
      AttendPaged(layer, block, band, recorder);
  } else {
    ProjectContext(layer, block, recorder);
    ProjectQueriesKeysValues(layer, block, input, recorder);
    AttendContiguous(layer, block, recorder);
  }
  recorder.EmitRows(LayerStage(layer, "attn_out"), {config_.q_dim()}, block.bands, attended);
  std::vector<Storage> unset;
  if (DM_FAULT(kUninitialisedWorkspace)) unset.assign(projected.begin(), projected.end());
  Linear<N>(attended, rows, w.o_proj, w.o_bias.values(), projected.data(), h);
  if (DM_FAULT(kUninitialisedWorkspace)) AddInPlace<N>(projected, unset);  // added to, never zeroed
  recorder.EmitRows(LayerStage(layer, "o_proj"), {h}, block.bands, projected);
  AddInPlace<N>(stream, {ConvFinish(w.attention_conv, site, block, recorder), rows * h});
}

template <typename N>
void Forward<N>::Mlp(std::uint64_t layer, const Block& block, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t rows = block.rows();
  const std::size_t h = config_.hidden_size;
  const std::size_t wide = config_.intermediate_size;
  const std::span<Storage> stream = RowsOf(block, b.stream_buf, h);
  const std::span<Storage> normed = RowsOf(block, b.norm_buf, h);
  const std::span<Storage> gate = RowsOf(block, b.mlp_intermediate, wide);
  const std::span<Storage> up = RowsOf(block, b.mlp_up, wide);
  const std::span<Storage> down = RowsOf(block, b.stream_acc, h);
  RmsNorm<N>(stream, rows, h, w.post_attention_layernorm.values(), config_.rms_norm_eps, normed);
  recorder.EmitRows(LayerStage(layer, "post_attention_layernorm"), {h}, block.bands, normed);
  const std::string site = LayerStage(layer, "mlp_conv");
  const std::span<const Storage> input(ConvPrepare(w.mlp_conv, site, block, recorder), rows * h);
  Linear<N>(input, rows, w.gate_proj, {}, gate.data(), wide);
  Linear<N>(input, rows, w.up_proj, {}, up.data(), wide);
  SiluMul<N>(gate, up);
  Linear<N>(gate, rows, w.down_proj, {}, down.data(), h);
  recorder.EmitRows(LayerStage(layer, "mlp"), {h}, block.bands, down);
  AddInPlace<N>(stream, {ConvFinish(w.mlp_conv, site, block, recorder), rows * h});
  recorder.EmitRows(LayerStage(layer, "output"), {h}, block.bands, stream);
}

template <typename N>
StatusOr<std::vector<BlockResult>> Forward<N>::RunLayers(Block block, StageRecorder<N>& recorder) {
  const std::size_t width = block.width;
  if (DM_FAULT(kReplayAfterWidthChange))
    block.width = std::min(width, static_cast<std::size_t>(FaultFirst(this, width)));
  Embed(block);
  if (DM_FAULT(kRedZoneWrite)) storage_.buffers().stream_buf[-1] = N::Store(0);
  for (std::uint64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    Attention(layer, block, recorder);
    Mlp(layer, block, recorder);
  }
  if (DM_FAULT(kWritePastEnd)) {
    const DflashFieldLayout& stream = storage_.layout().Field("stream_buf");
    storage_.buffers().stream_buf[stream.bytes / (DTypeBits(stream.dtype) / 8)] = N::Store(0);
  }
  return tail_.Run(block.bands, width, block.first, recorder);
}

template <typename N>
StatusOr<std::vector<BlockResult>> Forward<N>::RunPaged(std::span<const BandView> bands,
                                                        std::span<const BlockRequest> requests,
                                                        PagedCache<Storage>& cache,
                                                        StageRecorder<N>& recorder) {
  const Block block = {bands, requests.front().tokens.size(), 0, &cache};
  WriteInputs(block, requests);
  return RunLayers(block, recorder);
}

template <typename N>
StatusOr<std::vector<BlockResult>> Forward<N>::RunContiguous(const BandView& band,
                                                             const BlockRequest& request,
                                                             StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const Block block = {{&band, 1}, request.tokens.size(), band.context_positions.size(), nullptr};
  std::copy(band.context_positions.begin(), band.context_positions.end(), b.position_ids);
  std::fill_n(b.stream_buf, block.first * config_.hidden_size, N::Store(0));
  WriteInputs(block, {&request, 1});
  return RunLayers(block, recorder);
}

template class Forward<ExactNumeric>;
template class Forward<Bf16Numeric>;

}  // namespace draftmark::reference
