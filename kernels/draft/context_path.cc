#include "kernels/draft/context_path.h"

#include <vector>

#include "kernels/draft/chain_runner.h"
#include "kernels/draft/layer_launches.h"
#include "kernels/draft/mistaken.h"
#include "kernels/kv_split/kv_split.h"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "src/faults/fault.h"

namespace draftmark::kernels {

Status ProjectTaps(const DraftParts& parts, const ContextPass& pass, StageTaps* stage_taps) {
  const DrafterConfig& c = parts.config;
  BFloat16* const projected = parts.scratch.fc_proj.get() + pass.first * c.hidden_size;
  DM_RETURN_IF_ERROR(Linear(parts, {.x = pass.taps,
                                    .weight = parts.weights.fc,
                                    .y = projected,
                                    .rows = pass.rows,
                                    .n = c.hidden_size,
                                    .k = c.tap_width()}));
  if (stage_taps != nullptr) {
    DM_RETURN_IF_ERROR(stage_taps->HoldRows("fc", c.hidden_size, projected, pass.shown));
  }
  DM_RETURN_IF_ERROR(Norm(parts, projected, parts.weights.hidden_norm, pass.rows, projected));
  if (stage_taps != nullptr) {
    DM_RETURN_IF_ERROR(stage_taps->HoldRows("hidden_norm", c.hidden_size, projected, pass.shown));
  }
  return OkStatus();
}

namespace {

// A layer's keys and values from fc's projections, not normed as yet.
struct ContextHeads {
  StreamHeads keys, values;
};
ContextHeads HeadsOfLayer(const DraftParts& parts, const ContextPass& pass, std::uint64_t layer) {
  const DrafterConfig& c = parts.config;
  const std::uint64_t kv_dim = c.kv_dim();
  const std::uint64_t fused_width = c.num_hidden_layers * 2 * kv_dim;
  BFloat16* const fused = parts.scratch.fused_kv_out.get() + 2 * layer * kv_dim;
  return {
      NormedHeads(parts, fused, fused_width, pass.rows, c.num_key_value_heads,
                  parts.weights.layers[layer].k_norm),
      NormedHeads(parts, fused + kv_dim, fused_width, pass.rows, c.num_key_value_heads, nullptr)};
}

// RoPE, and to the cache instead of in place.
void RotateAndCache(const DraftParts& parts, const ContextPass& pass, std::uint64_t layer,
                    ContextHeads& heads) {
  const auto* const positions = static_cast<const std::int32_t*>(parts.scratch.norm_buf.value);
  RotateHeads(parts, positions + layer * pass.rows, heads.keys);
  CacheHeads(parts, parts.slots(), parts.cache.KeysOf(layer), heads.keys);
  CacheHeads(parts, parts.slots(), parts.cache.ValuesOf(layer), heads.values);
  if (layer == 0) heads.keys.slot_positions = parts.workspace.slot_positions;
}

// Keys and values of all layers from fc's projections to the cache: norms, RoPE and copies in one step.
std::vector<StreamHeads> HeadsOfContext(const DraftParts& parts, const ContextPass& pass) {
  std::vector<StreamHeads> all;
  for (std::uint64_t layer = 0; layer < parts.config.num_hidden_layers; ++layer) {
    ContextHeads heads = HeadsOfLayer(parts, pass, layer);
    RotateAndCache(parts, pass, layer, heads);
    all.push_back(heads.keys);
    all.push_back(heads.values);
  }
  return all;
}

// The same in more steps, with the stages between them: norm and RoPE one after the other, through the
// borrowed buffer, with the same bits. `run` takes a vector of heads.
template <typename Run>
Status TapContextHeads(const DraftParts& parts, const ContextPass& pass, StageTaps& stage_taps,
                       const Run& run) {
  const DrafterConfig& c = parts.config;
  const std::uint64_t kv_dim = c.kv_dim();
  std::vector<StreamHeads> all;
  for (std::uint64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    ContextHeads heads = HeadsOfLayer(parts, pass, layer);
    StreamHeads& k = heads.keys;
    k.y = parts.scratch.mlp_intermediate.get() + layer * pass.rows * kv_dim;
    k.y_stride = Signed(kv_dim);
    DM_RETURN_IF_ERROR(run(std::vector<StreamHeads>{k}));
    DM_RETURN_IF_ERROR(stage_taps.HoldRows(LayerStage(layer, "k_norm"), kv_dim, k.y, pass.shown));
    k.x = k.y;
    k.x_stride = k.y_stride;
    k.norm_weight = nullptr;
    RotateAndCache(parts, pass, layer, heads);
    all.push_back(heads.keys);
    all.push_back(heads.values);
  }
  return run(all);
}

template <typename Run>
Status FinishContextHeads(const DraftParts& parts, const ContextPass& pass, StageTaps* stage_taps,
                          const Run& run) {
  return stage_taps != nullptr ? TapContextHeads(parts, pass, *stage_taps, run)
                               : run(HeadsOfContext(parts, pass));
}

// The pass in a streaming chain of its own.
Status ChainContextPass(const DraftParts& parts, const ContextPass& pass, StageTaps* stage_taps) {
  ChainRunner chain(parts, /*at_once=*/stage_taps != nullptr);
  const std::uint64_t h = parts.config.hidden_size;
  ContextSteps steps = StepsOfContext(parts, pass, parts.workspace.row_sums);
  // For the stages only. Nothing else lies there as yet, and a pass has no more rows than the row
  // buffers (PrecomputeBorrows); a small vocabulary's logits would not hold them.
  BFloat16* const normed = stage_taps != nullptr ? parts.scratch.stream_buf.get() : nullptr;
  steps.keys_values.normed = normed;
  DM_RETURN_IF_ERROR(chain.Add(steps.taps));
  DM_RETURN_IF_ERROR(chain.Add(steps.keys_values));
  if (stage_taps != nullptr) {
    DM_RETURN_IF_ERROR(stage_taps->HoldRows("fc", h, parts.scratch.fc_proj.get(), pass.shown));
    DM_RETURN_IF_ERROR(stage_taps->HoldRows("hidden_norm", h, normed, pass.shown));
  }
  DM_RETURN_IF_ERROR(
      FinishContextHeads(parts, pass, stage_taps,
                         [&](const std::vector<StreamHeads>& heads) { return chain.Add(heads); }));
  return chain.Flush();
}

}  // namespace

ContextSteps StepsOfContext(const DraftParts& parts, const ContextPass& pass, float* sums) {
  const DrafterConfig& c = parts.config;
  BFloat16* const projected = parts.scratch.fc_proj.get();
  ContextSteps steps = {.taps = {.x = pass.taps,
                                 .rows = Signed(pass.rows),
                                 .k = Signed(c.tap_width()),
                                 .row_sums = sums},
                        .keys_values = {.x = projected,
                                        .rows = Signed(pass.rows),
                                        .k = Signed(c.hidden_size),
                                        .norm_weight = parts.weights.hidden_norm,
                                        .norm_sums = sums,
                                        .norm_parts = StreamChainRowParts(),
                                        .epsilon = parts.epsilon()},
                        .heads = HeadsOfContext(parts, pass)};
  steps.taps.parts[0] = {parts.weights.fc, nullptr, projected, Signed(c.hidden_size)};
  steps.keys_values.parts[0] = FusedKeysValues(parts, parts.scratch.fused_kv_out.get());
  return steps;
}

Status RunContextPass(const DraftParts& parts, const ContextPass& pass, StageTaps* stage_taps) {
  if (parts.fast && ChainsFitContext(parts, pass.rows)) {
    return ChainContextPass(parts, pass, stage_taps);
  }
  const DrafterConfig& c = parts.config;
  const std::uint64_t layers = c.num_hidden_layers;
  const std::uint64_t kv_dim = c.kv_dim();
  const std::uint64_t fused_width = layers * 2 * kv_dim;
  BFloat16* const fused = parts.scratch.fused_kv_out.get();
  BFloat16* const keys = parts.scratch.mlp_intermediate.get();
  const auto* const positions = static_cast<const std::int32_t*>(parts.scratch.norm_buf.value);
  DM_RETURN_IF_ERROR(ProjectTaps(parts, pass, stage_taps));
  if (DM_FAULT(kContextInputNorm) || DM_FAULT(kContextConvolved)) {
    DM_RETURN_IF_ERROR(MistakeContextForBlock(parts, pass.rows));
  }
  DM_RETURN_IF_ERROR(Linears(parts,
                             {.x = parts.scratch.fc_proj.get(),
                              .weight = parts.weights.fused_kv,
                              .bias = parts.weights.fused_kv_bias,
                              .y = fused,
                              .y_stride = fused_width,
                              .rows = pass.rows,
                              .n = 2 * kv_dim,
                              .k = c.hidden_size},
                             {.count = Signed(layers),
                              .weight = parts.weights.fused_kv_step,
                              .bias = Signed(2 * kv_dim),
                              .y = Signed(2 * kv_dim)}));
  if (parts.fast && 2 * layers <= StreamChainTraits::kMostHeadsAlone) {
    return FinishContextHeads(parts, pass, stage_taps, [&](const std::vector<StreamHeads>& heads) {
      return LaunchHeads(heads, parts.stream);
    });
  }
  DM_RETURN_IF_ERROR(LaunchKvSplit({.fused = fused,
                                    .k = keys,
                                    .rows = static_cast<std::int64_t>(pass.rows),
                                    .layers = static_cast<std::int64_t>(layers),
                                    .width = static_cast<std::int64_t>(kv_dim)},
                                   parts.stream));
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    BFloat16* const of_layer = keys + layer * pass.rows * kv_dim;
    DM_RETURN_IF_ERROR(NormHeads(parts, of_layer, parts.weights.layers[layer].k_norm, pass.rows,
                                 c.num_key_value_heads));
    if (stage_taps != nullptr) {
      DM_RETURN_IF_ERROR(
          stage_taps->HoldRows(LayerStage(layer, "k_norm"), kv_dim, of_layer, pass.shown));
    }
  }
  // All L * n rows at once; V is neither normed nor rotated.
  DM_RETURN_IF_ERROR(Rotate(parts, keys, positions, layers * pass.rows, c.num_key_value_heads));
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    DM_RETURN_IF_ERROR(WriteCache(parts, layer,
                                  {.k = keys + layer * pass.rows * kv_dim,
                                   .v = fused + (2 * layer + 1) * kv_dim,
                                   .v_stride = fused_width,
                                   .positions = positions,
                                   .rows = pass.rows}));
  }
  return OkStatus();
}

}  // namespace draftmark::kernels
