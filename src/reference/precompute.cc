#include "src/reference/precompute.h"

#include <algorithm>
#include <string>

#include "src/faults/fault.h"
#include "src/reference/copies.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"
#include "src/reference/mistaken.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::reference {

template <typename N>
void ContextPrecompute<N>::Run(std::span<const BandView> bands, PagedCache<Storage>& cache,
                               StageRecorder<N>& recorder) {
  const std::uint64_t alone = MaxPrecomputeRows(storage_.layout());
  const bool batched = storage_.buffers().precompute_in != nullptr;
  const std::uint64_t together = batched ? MaxBatchedPrecomputeRows(storage_.layout()) : 0;
  std::vector<PassRow> batch;
  for (const BandView& band : bands) {
    const std::uint64_t total = band.context_positions.size();
    const std::uint64_t pending = total - band.committed;
    std::vector<PassRow> rows;
    for (std::uint64_t i = band.committed; i < total; ++i) rows.push_back({&band, i});
    if (pending <= together) {
      if (batch.size() + pending > together) FlushBatch(batch, cache, recorder);
      batch.insert(batch.end(), rows.begin(), rows.end());
      continue;
    }
    for (std::size_t begin = 0; begin < rows.size(); begin += alone) {
      const std::size_t n = std::min<std::size_t>(alone, rows.size() - begin);
      const std::span<const PassRow> pass = std::span(rows).subspan(begin, n);
      // Straight from the sequence's own accumulator, which lies outside the scratch.
      std::vector<Storage> taps(n * config_.tap_width());
      CopyTaps(pass, taps.data());
      Pass(pass, taps, cache, recorder);
    }
  }
  FlushBatch(batch, cache, recorder);
  for (const BandView& band : bands) {
    recorder.EmitHeld(band.band, "fc", {config_.hidden_size});
    recorder.EmitHeld(band.band, "hidden_norm", {config_.hidden_size});
  }
}

template <typename N>
void ContextPrecompute<N>::FlushBatch(std::vector<PassRow>& batch, PagedCache<Storage>& cache,
                                      StageRecorder<N>& recorder) {
  if (batch.empty()) return;
  Storage* const staged = storage_.buffers().precompute_in;
  CopyTaps(batch, staged);
  Pass(batch, {staged, batch.size() * config_.tap_width()}, cache, recorder);
  batch.clear();
}

template <typename N>
void ContextPrecompute<N>::CopyTaps(std::span<const PassRow> rows, Storage* out) const {
  const std::size_t width = config_.tap_width();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<const BFloat16> taps = rows[i].band->taps.subspan(rows[i].index * width, width);
    CopyRow<N>(taps, {out + i * width, width});
    if (DM_FAULT(kTapLayerOffByOne)) {
      std::rotate(out + i * width, out + i * width + config_.target_hidden_size,
                  out + (i + 1) * width);
    }
  }
}

template <typename N>
void ContextPrecompute<N>::ProjectTaps(std::span<const PassRow> rows, std::span<const Storage> taps,
                                       StageRecorder<N>& recorder) {
  const std::size_t n = rows.size();
  const std::size_t h = config_.hidden_size;
  const std::span<Storage> projected(storage_.buffers().fc_proj, n * h);
  const auto hold = [&](const char* stage) {
    for (std::size_t i = 0; i < n; ++i) {
      if (IsShown(rows[i])) recorder.Hold(rows[i].band->band, stage, projected.subspan(i * h, h));
    }
  };
  Linear<N>(taps, n, weights_.fc, {}, projected.data(), h);
  hold("fc");
  RmsNorm<N>(projected, n, h, weights_.hidden_norm.values(), config_.rms_norm_eps, projected);
  hold("hidden_norm");
}

template <typename N>
void ContextPrecompute<N>::ProjectOnly(const BandView& band, StageRecorder<N>& recorder) {
  std::vector<PassRow> rows;
  for (std::uint64_t i = 0; i < band.context_positions.size(); ++i) rows.push_back({&band, i});
  std::vector<Storage> taps(rows.size() * config_.tap_width());
  CopyTaps(rows, taps.data());
  ProjectTaps(rows, taps, recorder);
  recorder.EmitHeld(band.band, "fc", {config_.hidden_size});
  recorder.EmitHeld(band.band, "hidden_norm", {config_.hidden_size});
}

template <typename N>
void ContextPrecompute<N>::ProjectKeysAndValues(std::span<const PassRow> rows,
                                                StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const std::size_t n = rows.size();
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t layers = config_.num_hidden_layers;
  const std::size_t heads = config_.num_key_value_heads;
  const std::size_t d = config_.head_dim;
  const std::size_t fused_width = layers * 2 * kv_dim;
  const std::span<const Storage> normed(b.fc_proj, n * config_.hidden_size);
  // Borrowed: the positions of all layers' rows lie in norm_buf, the K stage [L, n, kv_dim] in
  // mlp_intermediate.
  Storage* const key_stage = b.mlp_intermediate;
  for (std::size_t l = 0; l < layers; ++l) {
    // One fused matrix K_0, V_0, K_1, V_1, ...: its blocks are the layers' own k_proj and v_proj.
    const LayerWeights& w = weights_.layers[l];
    Storage* const fused = b.fused_kv_out + l * 2 * kv_dim;
    std::vector<Storage> mistaken;
    if (DM_FAULT(kContextInputNorm) || DM_FAULT(kContextConvolved)) {
      mistaken = MistakenContextInput<N>(config_, w, normed);
    }
    const std::span<const Storage> input = mistaken.empty() ? normed : mistaken;
    Linear<N>(input, n, w.k_proj, w.k_bias.values(), fused, fused_width);
    Linear<N>(input, n, w.v_proj, w.v_bias.values(), fused + kv_dim, fused_width);
    const std::span<Storage> keys(key_stage + l * n * kv_dim, n * kv_dim);
    CopyFusedPart(b.fused_kv_out, n, layers, kv_dim, l, FusedPart::kKey, keys.data());
    for (std::size_t i = 0; i < n; ++i) {
      b.SetBorrowedPosition(l * n + i, rows[i].band->context_positions[rows[i].index]);
    }
    RmsNorm<N>(keys, n * heads, d, w.k_norm.values(), config_.rms_norm_eps, keys);
    for (std::size_t i = 0; i < n; ++i) {
      if (IsShown(rows[i])) {
        recorder.Hold(rows[i].band->band, LayerStage(l, "k_norm"),
                      keys.subspan(i * kv_dim, kv_dim));
      }
    }
  }
  // All L * n rows at once; K only: V is neither normed nor rotated.
  for (std::size_t row = 0; row < layers * n; ++row) {
    for (std::size_t head = 0; head < heads; ++head) {
      RotateHead<N>(rope_, b.BorrowedPosition(row), {key_stage + row * kv_dim + head * d, d});
    }
  }
}

template <typename N>
void ContextPrecompute<N>::Pass(std::span<const PassRow> rows, std::span<const Storage> taps,
                                PagedCache<Storage>& cache, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const std::size_t n = rows.size();
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t layers = config_.num_hidden_layers;
  for (std::size_t i = 0; i < n; ++i)
    b.SetSlot(i, SlotOf(rows[i].band->block_table, rows[i].index));
  ProjectTaps(rows, taps, recorder);
  ProjectKeysAndValues(rows, recorder);
  for (std::size_t l = 0; l < layers; ++l) {
    // Borrowed: the V stage [n, kv_dim] in v_buf, one layer after the other.
    CopyFusedPart(b.fused_kv_out, n, layers, kv_dim, l, FusedPart::kValue, b.v_buf);
    for (std::size_t i = 0; i < n; ++i) {
      cache.Write(l, b.Slot(i), {b.mlp_intermediate + (l * n + i) * kv_dim, kv_dim},
                  {b.v_buf + i * kv_dim, kv_dim});
    }
  }
}

template class ContextPrecompute<ExactNumeric>;
template class ContextPrecompute<Bf16Numeric>;

}  // namespace draftmark::reference
