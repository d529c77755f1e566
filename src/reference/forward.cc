#include "src/reference/forward.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/reference/attention.h"
#include "src/reference/conv.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"

namespace draftmark::reference {

template <typename N>
void Forward<N>::PrecomputeContext(const BandView& band, std::uint64_t rows_per_pass,
                                   PagedCache<Storage>& cache, StageRecorder<N>& recorder) const {
  const std::size_t h = config_.hidden_size;
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t tap_width = config_.tap_width();
  const std::size_t layers = config_.num_hidden_layers;
  const std::size_t heads = config_.num_key_value_heads;
  const std::size_t total = band.context_positions.size();
  const Shape head_row = {heads, config_.head_dim};
  for (std::size_t begin = band.committed; begin < total; begin += rows_per_pass) {
    const std::size_t n = std::min<std::size_t>(rows_per_pass, total - begin);
    std::vector<Storage> taps(n * tap_width);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      taps[i] =
          N::Store(band.taps[begin * tap_width + i].ToDouble());  // BF16 values: exact in both
    }
    // After a window slide old rows are projected again; stages show the new ones only.
    const std::size_t shown_from = total - band.new_rows;
    const std::size_t hidden = begin < shown_from ? std::min(n, shown_from - begin) : 0;

    std::vector<Storage> fc_proj(n * h);
    Linear<N>(taps, n, weights_.fc, {}, fc_proj.data(), h);
    recorder.Hold(band.band, "fc", std::span<const Storage>(fc_proj).subspan(hidden * h));
    RmsNorm<N>(fc_proj, n, h, weights_.hidden_norm.values(), config_.rms_norm_eps, fc_proj);
    recorder.Hold(band.band, "hidden_norm", std::span<const Storage>(fc_proj).subspan(hidden * h));

    // One fused matrix K_0, V_0, K_1, V_1, ...: its blocks are the layers' own k_proj and v_proj.
    std::vector<Storage> fused_kv_out(n * layers * 2 * kv_dim);
    const std::size_t fused_width = layers * 2 * kv_dim;
    for (std::size_t l = 0; l < layers; ++l) {
      const LayerWeights& w = weights_.layers[l];
      Storage* const out = fused_kv_out.data() + l * 2 * kv_dim;
      Linear<N>(fc_proj, n, w.k_proj, w.k_bias.values(), out, fused_width);
      Linear<N>(fc_proj, n, w.v_proj, w.v_bias.values(), out + kv_dim, fused_width);
    }
    for (std::size_t l = 0; l < layers; ++l) {
      std::vector<Storage> keys(n * kv_dim);
      for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(fused_kv_out.data() + i * fused_width + l * 2 * kv_dim, kv_dim,
                    keys.data() + i * kv_dim);
      }
      RmsNorm<N>(keys, n * heads, config_.head_dim, weights_.layers[l].k_norm.values(),
                 config_.rms_norm_eps, keys);
      recorder.Hold(band.band, LayerStage(l, "k_norm"),
                    std::span<const Storage>(keys).subspan(hidden * kv_dim));
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t head = 0; head < heads; ++head) {
          RotateHead<N>(
              rope_, band.context_positions[begin + i],
              std::span(keys).subspan(i * kv_dim + head * config_.head_dim, config_.head_dim));
        }
        const Storage* const value =
            fused_kv_out.data() + i * fused_width + l * 2 * kv_dim + kv_dim;
        cache.Write(l, SlotOf(band.block_table, begin + i),
                    std::span<const Storage>(keys).subspan(i * kv_dim, kv_dim), {value, kv_dim});
      }
    }
  }
  recorder.EmitHeld(band.band, "fc", {h});
  recorder.EmitHeld(band.band, "hidden_norm", {h});
}

template <typename N>
typename Forward<N>::Rows Forward<N>::EmbedRows(std::span<const BlockRequest> requests) const {
  const std::size_t h = config_.hidden_size;
  Rows rows;
  rows.bands = requests.size();
  rows.width = requests.front().tokens.size();
  rows.stream.resize(rows.count() * h);
  for (std::size_t b = 0; b < rows.bands; ++b) {
    for (std::size_t j = 0; j < rows.width; ++j) {
      rows.positions.push_back(requests[b].start + static_cast<std::int64_t>(j));
      const bool mask = j > 0 && !weights_.mask_embedding.empty();
      EmbedRow<N>(
          mask ? weights_.mask_embedding.values() : weights_.embed.row(requests[b].tokens[j]),
          config_.input_embedding_scale,
          std::span(rows.stream).subspan((b * rows.width + j) * h, h));
    }
  }
  return rows;
}

template <typename N>
std::vector<typename N::Storage> Forward<N>::ConvPrepare(
    const ConvWeights& conv, const std::string& site, std::span<const BandView> bands,
    const Rows& rows, std::span<const Storage> normed, std::vector<Storage>& dynamic,
    StageRecorder<N>& recorder) const {
  const std::size_t taps = config_.conv_kernel_size;
  const std::size_t groups = config_.hidden_size / config_.conv_group_size;
  dynamic.resize(rows.count() * 2 * taps * groups);
  Linear<N>(normed, rows.count(), conv.kernel_projection, {}, dynamic.data(), 2 * taps * groups);
  recorder.EmitRows(site + ".dynamic", {2, taps, groups}, bands, dynamic);
  std::vector<Storage> prepared(normed.size());
  ApplyConv<N>(normed, dynamic, conv.base_kernel, ConvSide::kPrepare, taps, config_.conv_group_size,
               rows.width, prepared);
  recorder.EmitRows(site + ".prepare", {config_.hidden_size}, bands, prepared);
  return prepared;
}

template <typename N>
std::vector<typename N::Storage> Forward<N>::ConvFinish(
    const ConvWeights& conv, const std::string& site, std::span<const BandView> bands,
    const Rows& rows, std::span<const Storage> output, std::span<const Storage> dynamic,
    StageRecorder<N>& recorder) const {
  std::vector<Storage> finished(output.size());
  ApplyConv<N>(output, dynamic, conv.base_kernel, ConvSide::kFinish, config_.conv_kernel_size,
               config_.conv_group_size, rows.width, finished);
  recorder.EmitRows(site + ".finish", {config_.hidden_size}, bands, finished);
  return finished;
}

template <typename N>
void Forward<N>::Attention(std::uint64_t layer, std::span<const BandView> bands, Rows& rows,
                           PagedCache<Storage>& cache, StageRecorder<N>& recorder) const {
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t count = rows.count();
  const std::size_t h = config_.hidden_size;
  const std::size_t d = config_.head_dim;
  const std::size_t q_dim = config_.q_dim();
  const std::size_t kv_dim = config_.kv_dim();
  const Shape kv_row = {config_.num_key_value_heads, d};

  std::vector<Storage> normed(count * h);
  RmsNorm<N>(rows.stream, count, h, w.input_layernorm.values(), config_.rms_norm_eps, normed);
  recorder.EmitRows(LayerStage(layer, "input_layernorm"), {h}, bands, normed);
  const bool conv = config_.conv_kernel_size > 0;
  std::vector<Storage> dynamic;
  if (conv) {
    normed = ConvPrepare(w.attention_conv, LayerStage(layer, "attention_conv"), bands, rows, normed,
                         dynamic, recorder);
  }

  std::vector<Storage> q(count * q_dim), k(count * kv_dim), v(count * kv_dim);
  Linear<N>(normed, count, w.q_proj, w.q_bias.values(), q.data(), q_dim);
  Linear<N>(normed, count, w.k_proj, w.k_bias.values(), k.data(), kv_dim);
  Linear<N>(normed, count, w.v_proj, w.v_bias.values(), v.data(), kv_dim);
  RmsNorm<N>(q, count * config_.num_attention_heads, d, w.q_norm.values(), config_.rms_norm_eps, q);
  RmsNorm<N>(k, count * config_.num_key_value_heads, d, w.k_norm.values(), config_.rms_norm_eps, k);
  recorder.EmitRows(LayerStage(layer, "q_norm"), {config_.num_attention_heads, d}, bands, q);
  recorder.EmitRows(LayerStage(layer, "k_norm"), kv_row, bands, k);
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t at = row * q_dim; at < (row + 1) * q_dim; at += d) {
      RotateHead<N>(rope_, rows.positions[row], std::span(q).subspan(at, d));
    }
    for (std::size_t at = row * kv_dim; at < (row + 1) * kv_dim; at += d) {
      RotateHead<N>(rope_, rows.positions[row], std::span(k).subspan(at, d));
    }
  }

  Visibility visibility;
  visibility.causal = config_.layer_causal[layer];
  visibility.sliding = config_.layer_types[layer] == LayerType::kSlidingAttention;
  visibility.window = static_cast<std::int64_t>(config_.sliding_window.value_or(0));
  std::vector<Storage> attended(count * q_dim);
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const BandView& band = bands[b];
    const std::size_t context = band.context_positions.size();
    const std::size_t first = b * rows.width;
    const std::span<const std::int64_t> positions =
        std::span(rows.positions).subspan(first, rows.width);
    for (std::size_t j = 0; j < rows.width; ++j) {
      cache.Write(layer, SlotOf(band.block_table, context + j),
                  std::span<const Storage>(k).subspan((first + j) * kv_dim, kv_dim),
                  std::span<const Storage>(v).subspan((first + j) * kv_dim, kv_dim));
    }
    for (const char* stage : {"k_new", "v_new"}) {
      const std::string name = LayerStage(layer, stage);
      for (std::size_t m = context - band.new_rows; m < context + rows.width; ++m) {
        const std::int64_t slot = SlotOf(band.block_table, m);
        recorder.Hold(band.band, name,
                      stage[0] == 'k' ? cache.Key(layer, slot) : cache.Value(layer, slot));
      }
      recorder.EmitHeld(band.band, name, kv_row);
    }
    std::vector<std::int64_t> key_positions(band.context_positions.begin(),
                                            band.context_positions.end());
    key_positions.insert(key_positions.end(), positions.begin(), positions.end());
    PagedAttention<N>(
        std::span<const Storage>(q).subspan(first * q_dim, rows.width * q_dim),
        {config_.num_attention_heads, config_.num_key_value_heads, d, w.sinks.values()}, cache,
        layer, band.block_table, positions, key_positions, visibility,
        std::span(attended).subspan(first * q_dim, rows.width * q_dim));
  }
  recorder.EmitRows(LayerStage(layer, "attn_out"), {q_dim}, bands, attended);

  std::vector<Storage> projected(count * h);
  Linear<N>(attended, count, w.o_proj, w.o_bias.values(), projected.data(), h);
  recorder.EmitRows(LayerStage(layer, "o_proj"), {h}, bands, projected);
  if (conv) {
    projected = ConvFinish(w.attention_conv, LayerStage(layer, "attention_conv"), bands, rows,
                           projected, dynamic, recorder);
  }
  AddInPlace<N>(rows.stream, projected);
}

template <typename N>
void Forward<N>::Mlp(std::uint64_t layer, std::span<const BandView> bands, Rows& rows,
                     StageRecorder<N>& recorder) const {
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t count = rows.count();
  const std::size_t h = config_.hidden_size;
  const std::size_t wide = config_.intermediate_size;
  std::vector<Storage> normed(count * h), gate(count * wide), up(count * wide), down(count * h);
  RmsNorm<N>(rows.stream, count, h, w.post_attention_layernorm.values(), config_.rms_norm_eps,
             normed);
  recorder.EmitRows(LayerStage(layer, "post_attention_layernorm"), {h}, bands, normed);
  const bool conv = config_.conv_kernel_size > 0;
  std::vector<Storage> dynamic;
  if (conv)
    normed = ConvPrepare(w.mlp_conv, LayerStage(layer, "mlp_conv"), bands, rows, normed, dynamic,
                         recorder);
  Linear<N>(normed, count, w.gate_proj, {}, gate.data(), wide);
  Linear<N>(normed, count, w.up_proj, {}, up.data(), wide);
  SiluMul<N>(gate, up);
  Linear<N>(gate, count, w.down_proj, {}, down.data(), h);
  recorder.EmitRows(LayerStage(layer, "mlp"), {h}, bands, down);
  if (conv)
    down =
        ConvFinish(w.mlp_conv, LayerStage(layer, "mlp_conv"), bands, rows, down, dynamic, recorder);
  AddInPlace<N>(rows.stream, down);
  recorder.EmitRows(LayerStage(layer, "output"), {h}, bands, rows.stream);
}

template <typename N>
std::vector<BlockResult> Forward<N>::RunBlock(std::span<const BandView> bands,
                                              std::span<const BlockRequest> requests,
                                              PagedCache<Storage>& cache,
                                              StageRecorder<N>& recorder) const {
  Rows rows = EmbedRows(requests);
  for (std::uint64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    Attention(layer, bands, rows, cache, recorder);
    Mlp(layer, bands, rows, recorder);
  }
  return tail_.Run(bands, requests, rows.stream, recorder);
}

template class Forward<ExactNumeric>;
template class Forward<Bf16Numeric>;

}  // namespace draftmark::reference
