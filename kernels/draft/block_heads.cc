// The block path's queries, keys and values: their projections, and their heads on the way to where attention
// reads them.
#include <cstdint>
#include <vector>

#include "kernels/draft/block_path.h"
#include "kernels/draft/chain_runner.h"
#include "kernels/draft/layer_launches.h"
#include "kernels/stream_chain/stream_chain.h"
#include "src/faults/fault.h"

namespace draftmark::kernels {

// Whether a layer's queries, keys and values are one product: its rows lie in mlp_intermediate, which
// nothing else needs until the heads are done.
bool BlockPath::ProjectsTogether(std::uint64_t layer) const {
  const DeviceLayer& w = p_.weights.layers[layer];
  return p_.fast && chain_ == nullptr && shape_.paged && w.q_bias == nullptr &&
         w.k_bias == nullptr && w.v_bias == nullptr && ProjectedWidth() <= c_.intermediate_size;
}

// Norm of queries and keys alone, to their buffers.
std::vector<StreamHeads> BlockPath::HeadNorms(std::uint64_t layer) const {
  const DeviceLayer& w = p_.weights.layers[layer];
  std::vector<StreamHeads> heads = {
      NormedHeads(p_, RowsOf(p_.scratch.q_buf, c_.q_dim()), c_.q_dim(), shape_.rows(),
                  c_.num_attention_heads, w.q_norm),
      NormedHeads(p_, RowsOf(p_.scratch.k_buf, c_.kv_dim()), c_.kv_dim(), shape_.rows(),
                  c_.num_key_value_heads, w.k_norm)};
  if (ProjectsTogether(layer)) {
    heads[0].x = ProjectedRows();
    heads[1].x = ProjectedRows() + c_.q_dim();
    for (StreamHeads& one : heads) one.x_stride = Signed(ProjectedWidth());
  }
  return heads;
}

// Queries, keys and values, to where attention reads them. Behind HeadNorms they are not `normed` again.
std::vector<StreamHeads> BlockPath::FinishedHeads(std::uint64_t layer, bool normed) const {
  std::vector<StreamHeads> heads = HeadNorms(layer);
  for (StreamHeads& one : heads) {
    if (!normed) {
      one.x = one.y;
      one.x_stride = one.y_stride;
      one.norm_weight = nullptr;
    }
    RotateHeads(p_, p_.scratch.position_ids.get() + shape_.first, one);
  }
  const bool together = ProjectsTogether(layer);
  heads.push_back(NormedHeads(
      p_,
      together ? ProjectedRows() + c_.q_dim() + c_.kv_dim() : RowsOf(p_.scratch.v_buf, c_.kv_dim()),
      together ? ProjectedWidth() : c_.kv_dim(), shape_.rows(), c_.num_key_value_heads, nullptr));
  CacheHeads(p_, BlockSlots(), p_.cache.KeysOf(layer), heads[1]);
  CacheHeads(p_, BlockSlots(), p_.cache.ValuesOf(layer), heads[2]);
  if (layer == 0) heads[1].slot_positions = p_.workspace.slot_positions;
  return heads;
}

Status BlockPath::TapHeadNorms(std::uint64_t layer) {
  DM_RETURN_IF_ERROR(Tap(layer, "q_norm", {c_.num_attention_heads, c_.head_dim},
                         RowsOf(p_.scratch.q_buf, c_.q_dim())));
  return Tap(layer, "k_norm", {c_.num_key_value_heads, c_.head_dim},
             RowsOf(p_.scratch.k_buf, c_.kv_dim()));
}

// In one launch, or in two where the stages between are wanted.
Status BlockPath::FinishHeads(std::uint64_t layer) {
  if (taps_ != nullptr) {
    DM_RETURN_IF_ERROR(LaunchHeads(HeadNorms(layer), p_.stream));
    DM_RETURN_IF_ERROR(TapHeadNorms(layer));
  }
  return LaunchHeads(FinishedHeads(layer, taps_ == nullptr), p_.stream);
}

Status BlockPath::ProjectQueriesKeysValues(std::uint64_t layer, const BFloat16* input) {
  const DeviceLayer& w = p_.weights.layers[layer];
  const std::uint64_t rows = shape_.rows();
  BFloat16* const q = RowsOf(p_.scratch.q_buf, c_.q_dim());
  BFloat16* const k = RowsOf(p_.scratch.k_buf, c_.kv_dim());
  BFloat16* const v = RowsOf(p_.scratch.v_buf, c_.kv_dim());
  const std::int32_t* const positions = p_.scratch.position_ids.get() + shape_.first;
  if (ProjectsTogether(layer)) {
    // A layer's three matrices lie behind each other.
    DM_RETURN_IF_ERROR(Linear(p_, {.x = input,
                                   .weight = w.q_proj,
                                   .y = ProjectedRows(),
                                   .rows = rows,
                                   .n = ProjectedWidth(),
                                   .k = c_.hidden_size}));
    return FinishHeads(layer);
  }
  DM_RETURN_IF_ERROR(Linear(p_, {.x = input,
                                 .weight = w.q_proj,
                                 .bias = w.q_bias,
                                 .y = q,
                                 .rows = rows,
                                 .n = c_.q_dim(),
                                 .k = c_.hidden_size}));
  DM_RETURN_IF_ERROR(LinearPair(p_,
                                {.x = input,
                                 .weight = w.k_proj,
                                 .bias = w.k_bias,
                                 .y = k,
                                 .rows = rows,
                                 .n = c_.kv_dim(),
                                 .k = c_.hidden_size},
                                w.v_proj, w.v_bias, v));
  if (p_.fast && shape_.paged) return FinishHeads(layer);
  DM_RETURN_IF_ERROR(NormHeads(p_, q, w.q_norm, rows, c_.num_attention_heads));
  DM_RETURN_IF_ERROR(NormHeads(p_, k, w.k_norm, rows, c_.num_key_value_heads));
  if (DM_FAULT(kValuesNormed)) {
    DM_RETURN_IF_ERROR(NormHeads(p_, v, w.k_norm, rows, c_.num_key_value_heads));
  }
  if (DM_FAULT(kValuesRotated)) {
    DM_RETURN_IF_ERROR(Rotate(p_, v, positions, rows, c_.num_key_value_heads));
  }
  DM_RETURN_IF_ERROR(TapHeadNorms(layer));
  DM_RETURN_IF_ERROR(Rotate(p_, q, positions, rows, c_.num_attention_heads));
  DM_RETURN_IF_ERROR(Rotate(p_, k, positions, rows, c_.num_key_value_heads));
  if (!shape_.paged) return OkStatus();
  return WriteCache(
      p_, layer, {.k = k, .v = v, .v_stride = c_.kv_dim(), .positions = positions, .rows = rows});
}

}  // namespace draftmark::kernels
