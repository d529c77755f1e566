#include "kernels/draft/block_path.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kernels/conv/conv.h"
#include "kernels/draft/layer_launches.h"
#include "kernels/embed/embed.h"
#include "kernels/embed/embed_traits.h"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/residual_add/residual_add.h"
#include "kernels/silu_mul/silu_mul.h"
#include "kernels/slot_fill/slot_fill.h"
#include "src/backend/cache_slots.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {

Status BlockPath::Tap(std::uint64_t layer, const char* stage, const Shape& row_shape,
                      const BFloat16* rows) {
  if (taps_ == nullptr) return OkStatus();
  return taps_->Rows(LayerStage(layer, stage), row_shape, rows, shape_.rows());
}

Slots BlockPath::BlockSlots() const {
  const std::uint64_t in_front = context_ != nullptr ? context_->rows : 0;
  return std::visit([&](auto* slots) -> Slots { return slots + in_front; }, p_.slots());
}

Status BlockPath::Embed() {
  if (shape_.first > 0) {
    // Context rows never act as queries: their stream is zero.
    DM_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(p_.scratch.stream_buf.value, 0,
                                   shape_.first * c_.hidden_size * sizeof(BFloat16), p_.stream),
                   "cudaMemsetAsync"));
  }
  if (chain_ != nullptr) chain_->SquaresCounted(EmbedTraits::SumParts(Signed(c_.hidden_size)));
  const EmbedArgs embed = {.ids = p_.scratch.draft_tokens_dev.get(),
                           .table = p_.weights.embed,
                           .mask_embedding = p_.weights.mask_embedding,
                           .scale = static_cast<float>(c_.input_embedding_scale),
                           .out = RowsOf(p_.scratch.stream_buf, c_.hidden_size),
                           .rows = Signed(shape_.rows()),
                           .vocabulary = Signed(c_.vocab_size),
                           .h = Signed(c_.hidden_size),
                           .band = Signed(shape_.width),
                           .row_sums = chain_ != nullptr ? p_.workspace.row_sums : nullptr};
  if (!shape_.paged) return LaunchEmbed(embed, p_.stream);
  const SlotFillArgs fill = {.block_tables = p_.workspace.block_tables,
                             // Word 1 of a record: the logical index of the band's first block row.
                             .first = p_.scratch.option_b_indirect_args_dev.get() + 1,
                             .slots = BlockSlots(),
                             .rows = Signed(shape_.rows()),
                             .band = Signed(shape_.width),
                             .table = Signed(p_.plan.blocks_per_band),
                             .first_step = Signed(p_.plan.layout.argument_words())};
  if (p_.fast) return LaunchEmbedWithSlots(embed, fill, p_.stream);
  DM_RETURN_IF_ERROR(LaunchSlotFill(fill, p_.stream));
  return LaunchEmbed(embed, p_.stream);
}

Status BlockPath::Convolve(const DeviceConv& conv, bool prepare, const BFloat16* x,
                           const std::string& site, const BFloat16** out) {
  BFloat16* const convolved = p_.scratch.conv_tmp.get();
  DM_RETURN_IF_ERROR(LaunchConv({.side = prepare ? ConvSide::kPrepare : ConvSide::kFinish,
                                 .x = x,
                                 .dynamic = p_.scratch.conv_dyn.get(),
                                 .base = conv.base_kernel,
                                 .out = convolved,
                                 .rows = Signed(shape_.rows()),
                                 .h = Signed(c_.hidden_size),
                                 .taps = Signed(c_.conv_kernel_size),
                                 .group = Signed(c_.conv_group_size),
                                 .band = Signed(shape_.width)},
                                p_.stream));
  *out = convolved;
  if (taps_ == nullptr) return OkStatus();
  return taps_->Rows(site + (prepare ? ".prepare" : ".finish"), {c_.hidden_size}, convolved,
                     shape_.rows());
}

Status BlockPath::ConvPrepare(const DeviceConv& conv, const std::string& site,
                              const BFloat16** out) {
  const BFloat16* const normed = RowsOf(p_.scratch.norm_buf, c_.hidden_size);
  *out = normed;
  if (c_.conv_kernel_size == 0) return OkStatus();
  const std::uint64_t groups = c_.hidden_size / c_.conv_group_size;
  BFloat16* const dynamic = p_.scratch.conv_dyn.get();
  DM_RETURN_IF_ERROR(Linear(p_, {.x = normed,
                                 .weight = conv.kernel_projection,
                                 .y = dynamic,
                                 .rows = shape_.rows(),
                                 .n = 2 * c_.conv_kernel_size * groups,
                                 .k = c_.hidden_size}));
  DM_RETURN_IF_ERROR(TapDynamic(site));
  return Convolve(conv, /*prepare=*/true, normed, site, out);
}

Status BlockPath::TapDynamic(const std::string& site) {
  if (taps_ == nullptr) return OkStatus();
  const std::uint64_t groups = c_.hidden_size / c_.conv_group_size;
  return taps_->Rows(site + ".dynamic", {2, c_.conv_kernel_size, groups}, p_.scratch.conv_dyn.get(),
                     shape_.rows());
}

Status BlockPath::ConvFinish(const DeviceConv& conv, const std::string& site,
                             const BFloat16** out) {
  const BFloat16* const sublayer = RowsOf(p_.scratch.stream_acc, c_.hidden_size);
  *out = sublayer;
  if (c_.conv_kernel_size == 0) return OkStatus();
  return Convolve(conv, /*prepare=*/false, sublayer, site, out);
}

Status BlockPath::AddToStream(const BFloat16* delta) {
  return LaunchResidualAdd({.x = RowsOf(p_.scratch.stream_buf, c_.hidden_size),
                            .delta = delta,
                            .rows = Signed(shape_.rows()),
                            .width = Signed(c_.hidden_size)},
                           p_.stream);
}

// Before the next norm, which can do it as well.
Status BlockPath::AddLater(const BFloat16* delta) {
  if (!p_.fast || taps_ != nullptr) return AddToStream(delta);
  pending_ = delta;
  return OkStatus();
}

Status BlockPath::NormStream(DeviceMatrix weight, BFloat16* normed) {
  return AddAndNorm(p_, RowsOf(p_.scratch.stream_buf, c_.hidden_size),
                    std::exchange(pending_, nullptr), weight, shape_.rows(), normed);
}

Status BlockPath::ProjectContext(std::uint64_t layer) {
  const DeviceLayer& w = p_.weights.layers[layer];
  const std::uint64_t n = shape_.first;
  if (n == 0) return OkStatus();
  BFloat16* const k = p_.scratch.k_buf.get();
  DM_RETURN_IF_ERROR(LinearPair(p_,
                                {.x = p_.scratch.fc_proj.get(),
                                 .weight = w.k_proj,
                                 .bias = w.k_bias,
                                 .y = k,
                                 .rows = n,
                                 .n = c_.kv_dim(),
                                 .k = c_.hidden_size},
                                w.v_proj, w.v_bias, p_.scratch.v_buf.get()));
  DM_RETURN_IF_ERROR(NormHeads(p_, k, w.k_norm, n, c_.num_key_value_heads));
  if (taps_ != nullptr) {
    std::vector<StageTaps::PassRow> rows(n);
    for (std::uint64_t i = n - taps_->bands().front().new_rows; i < n; ++i) rows[i].shown = true;
    DM_RETURN_IF_ERROR(taps_->HoldRows(LayerStage(layer, "k_norm"), c_.kv_dim(), k, rows));
  }
  DM_RETURN_IF_ERROR(Rotate(p_, k, p_.scratch.position_ids.get(), n, c_.num_key_value_heads));
  // "Q is zero-padded": attention has one row per slot, and nobody reads what it makes of these.
  return CudaStatus(
      cudaMemsetAsync(p_.scratch.q_buf.value, 0, n * c_.q_dim() * sizeof(BFloat16), p_.stream),
      "cudaMemsetAsync");
}

PagedAttentionArgs BlockPath::AttentionOf(std::uint64_t layer) const {
  const bool sliding = c_.layer_types[layer] == LayerType::kSlidingAttention;
  // Positions are I32: a window beyond every distance is no window.
  constexpr std::uint64_t kWidest = INT32_MAX;
  const std::uint64_t window = sliding ? c_.sliding_window.value_or(0) : 0;
  PagedAttentionArgs args = {.q = p_.scratch.q_buf.get(),
                             .block_tables = p_.workspace.block_tables,
                             .sinks = p_.weights.layers[layer].sinks,
                             .out = p_.scratch.attn_out.get(),
                             .heads = Signed(c_.num_attention_heads),
                             .kv = Signed(c_.num_key_value_heads),
                             .d = Signed(c_.head_dim),
                             .window = window > kWidest ? 0 : Signed(window),
                             .causal = c_.layer_causal[layer],
                             .workspace = p_.workspace.attention,
                             .workspace_bytes = p_.workspace.attention_bytes,
                             .generic = !p_.fast};
  if (shape_.paged) {
    args.k_pool = p_.cache.KeysOf(layer);
    args.v_pool = p_.cache.ValuesOf(layer);
    args.arguments = p_.scratch.option_b_indirect_args_dev.get();
    args.record_words = Signed(p_.plan.layout.argument_words());
    args.slot_positions = p_.workspace.slot_positions;
    args.bands = Signed(shape_.bands);
    args.rows = Signed(shape_.width);
    args.table = Signed(p_.plan.blocks_per_band);
    // Heads by a kernel of their own stand in front, and in front of that the projections; the context's
    // keys are older.
    args.old_keys_complete = p_.fast && chain_ == nullptr;
  } else {
    // The row buffers are the pool, row i is slot i, and all rows are queries.
    const std::uint64_t slots = shape_.first + shape_.width;
    args.k_pool = p_.scratch.k_buf.get();
    args.v_pool = p_.scratch.v_buf.get();
    args.arguments = p_.workspace.contiguous_record;
    args.slot_positions = p_.scratch.position_ids.get();
    args.rows = Signed(slots);
    args.table = Signed((slots + kCacheBlockRows - 1) / kCacheBlockRows);
    // Hopper's kernels copy whole cache blocks; the row buffers may end within one.
    args.generic = true;
  }
  return args;
}

Status BlockPath::TapCache(std::uint64_t layer) {
  const std::uint64_t kv_dim = c_.kv_dim();
  const auto hold = [&](const BandView& band, const char* stage, const BFloat16* pool) -> Status {
    const std::string name = LayerStage(layer, stage);
    if (!taps_->recorder().Wants(name)) return OkStatus();
    const std::uint64_t context = band.context_positions.size();
    for (std::uint64_t m = context - band.new_rows; m < context + shape_.width; ++m) {
      const std::uint64_t slot = static_cast<std::uint64_t>(SlotOf(band.block_table, m));
      DM_ASSIGN_OR_RETURN(const std::vector<BFloat16> row,
                          taps_->Download(pool + slot * kv_dim, kv_dim));
      taps_->recorder().Hold(band.band, name, row);
    }
    taps_->recorder().EmitHeld(band.band, name, {c_.num_key_value_heads, c_.head_dim});
    return OkStatus();
  };
  for (const BandView& band : taps_->bands()) {
    DM_RETURN_IF_ERROR(hold(band, "k_new", p_.cache.KeysOf(layer)));
    DM_RETURN_IF_ERROR(hold(band, "v_new", p_.cache.ValuesOf(layer)));
  }
  return OkStatus();
}

Status BlockPath::TapRowBuffers(std::uint64_t layer) {
  const std::uint64_t shown = shape_.first - taps_->bands().front().new_rows;
  const std::uint64_t rows = shape_.first + shape_.width - shown;
  const Shape row_shape = {c_.num_key_value_heads, c_.head_dim};
  DM_RETURN_IF_ERROR(taps_->Rows(LayerStage(layer, "k_new"), row_shape,
                                 p_.scratch.k_buf.get() + shown * c_.kv_dim(), rows));
  return taps_->Rows(LayerStage(layer, "v_new"), row_shape,
                     p_.scratch.v_buf.get() + shown * c_.kv_dim(), rows);
}

Status BlockPath::Attention(std::uint64_t layer) {
  const DeviceLayer& w = p_.weights.layers[layer];
  const std::uint64_t h = c_.hidden_size;
  BFloat16* const normed = RowsOf(p_.scratch.norm_buf, h);
  BFloat16* const projected = RowsOf(p_.scratch.stream_acc, h);
  const BFloat16* const attended = RowsOf(p_.scratch.attn_out, c_.q_dim());
  const std::string site = LayerStage(layer, "attention_conv");
  DM_RETURN_IF_ERROR(NormStream(w.input_layernorm, normed));
  DM_RETURN_IF_ERROR(Tap(layer, "input_layernorm", {h}, normed));
  const BFloat16* input = nullptr;
  DM_RETURN_IF_ERROR(ConvPrepare(w.attention_conv, site, &input));
  if (!shape_.paged) DM_RETURN_IF_ERROR(ProjectContext(layer));
  DM_RETURN_IF_ERROR(ProjectQueriesKeysValues(layer, input));
  if (taps_ != nullptr) {
    DM_RETURN_IF_ERROR(shape_.paged ? TapCache(layer) : TapRowBuffers(layer));
  }
  DM_RETURN_IF_ERROR(LaunchPagedAttention(AttentionOf(layer), p_.stream));
  DM_RETURN_IF_ERROR(Tap(layer, "attn_out", {c_.q_dim()}, attended));
  DM_RETURN_IF_ERROR(Linear(p_, {.x = attended,
                                 .weight = w.o_proj,
                                 .bias = w.o_bias,
                                 .y = projected,
                                 .rows = shape_.rows(),
                                 .n = h,
                                 .k = c_.q_dim()}));
  DM_RETURN_IF_ERROR(Tap(layer, "o_proj", {h}, projected));
  const BFloat16* delta = nullptr;
  DM_RETURN_IF_ERROR(ConvFinish(w.attention_conv, site, &delta));
  return AddLater(delta);
}

Status BlockPath::Mlp(std::uint64_t layer) {
  const DeviceLayer& w = p_.weights.layers[layer];
  const std::uint64_t h = c_.hidden_size;
  const std::uint64_t wide = c_.intermediate_size;
  const std::uint64_t rows = shape_.rows();
  BFloat16* const normed = RowsOf(p_.scratch.norm_buf, h);
  BFloat16* const gate = RowsOf(p_.scratch.mlp_intermediate, wide);
  BFloat16* const up = RowsOf(p_.scratch.mlp_up, wide);
  BFloat16* const down = RowsOf(p_.scratch.stream_acc, h);
  const std::string site = LayerStage(layer, "mlp_conv");
  DM_RETURN_IF_ERROR(NormStream(w.post_attention_layernorm, normed));
  DM_RETURN_IF_ERROR(Tap(layer, "post_attention_layernorm", {h}, normed));
  const BFloat16* input = nullptr;
  DM_RETURN_IF_ERROR(ConvPrepare(w.mlp_conv, site, &input));
  DM_RETURN_IF_ERROR(LinearPair(
      p_, {.x = input, .weight = w.gate_proj, .y = gate, .rows = rows, .n = wide, .k = h},
      w.up_proj, nullptr, up));
  DM_RETURN_IF_ERROR(LaunchSiluMul(
      {.gate = gate, .up = up, .rows = Signed(rows), .width = Signed(wide)}, p_.stream));
  DM_RETURN_IF_ERROR(
      Linear(p_, {.x = gate, .weight = w.down_proj, .y = down, .rows = rows, .n = h, .k = wide}));
  DM_RETURN_IF_ERROR(Tap(layer, "mlp", {h}, down));
  const BFloat16* delta = nullptr;
  DM_RETURN_IF_ERROR(ConvFinish(w.mlp_conv, site, &delta));
  DM_RETURN_IF_ERROR(AddLater(delta));
  return Tap(layer, "output", {h}, RowsOf(p_.scratch.stream_buf, h));
}

Status BlockPath::RunLayers() {
  DM_RETURN_IF_ERROR(Embed());
  for (std::uint64_t layer = 0; layer < c_.num_hidden_layers; ++layer) {
    if (chain_ != nullptr) {
      DM_RETURN_IF_ERROR(ChainLayer(layer));
    } else {
      DM_RETURN_IF_ERROR(Attention(layer));
      DM_RETURN_IF_ERROR(Mlp(layer));
    }
  }
  return OkStatus();
}

}  // namespace draftmark::kernels
