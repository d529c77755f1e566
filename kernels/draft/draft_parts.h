// What the launches of a draft share: geometry, weights, memory, library and stream of one session.
#ifndef DRAFTMARK_KERNELS_DRAFT_DRAFT_PARTS_H_
#define DRAFTMARK_KERNELS_DRAFT_DRAFT_PARTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/device/slots.h"
#include "kernels/draft/draft_weights.h"
#include "src/backend/session_plan.h"
#include "src/config/drafter_config.h"
#include "src/config/rope_table.h"
#include "src/cuda/cublaslt.h"
#include "src/scratch/dflash_fields.h"

namespace draftmark::kernels {

// Launchers count in signed numbers. Sizes here are far below 2^63.
inline std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// K and V pools, each [L, blocks * 16, kv_dim].
struct CachePools {
  BFloat16* k = nullptr;
  BFloat16* v = nullptr;
  std::int64_t slots = 0;         // of one layer
  std::int64_t layer_values = 0;  // slots * kv_dim

  BFloat16* KeysOf(std::uint64_t layer) const {
    return k + static_cast<std::int64_t>(layer) * layer_values;
  }
  BFloat16* ValuesOf(std::uint64_t layer) const {
    return v + static_cast<std::int64_t>(layer) * layer_values;
  }
};

// Fields of the harness workspace (harness_workspace.h) by pointer; null where not needed.
struct WorkspaceView {
  void* gemm = nullptr;
  std::uint64_t gemm_bytes = 0;
  void* attention = nullptr;
  std::uint64_t attention_bytes = 0;
  void* argmax = nullptr;
  std::uint64_t argmax_bytes = 0;
  void* top16 = nullptr;
  std::uint64_t top16_bytes = 0;
  void* markov = nullptr;
  std::uint64_t markov_bytes = 0;
  BFloat16* markov_state = nullptr;
  BFloat16* markov_embed_bands = nullptr;
  float* selector_scores = nullptr;
  BFloat16* taps = nullptr;
  std::uint32_t* tap_rows = nullptr;
  BFloat16* tap_staging = nullptr;  // on scratch v1
  float* rope_frequency = nullptr;
  std::uint32_t* block_tables = nullptr;
  std::int32_t* slot_positions = nullptr;
  std::uint32_t* contiguous_record = nullptr;
  BFloat16* conf_out_host = nullptr;
  float* row_sums = nullptr;           // null without streaming chains
  std::uint64_t* row_best = nullptr;   // the same
  unsigned* chain_counters = nullptr;  // zero between launches
};

// Nothing is owned; everything outlives whoever holds it.
struct DraftParts {
  const DrafterConfig& config;
  const DeviceWeights& weights;
  const SessionPlan& plan;
  const DflashScratch& scratch;
  WorkspaceView workspace;
  CachePools cache;
  RopeTable rope;
  CublasLt* library = nullptr;  // null: own kernels only
  cudaStream_t stream = nullptr;
  bool fast = false;  // kernels for this device, where they fit; else those for every device

  // slot_mapping_dev in the width of the scratch's layout.
  Slots slots() const {
    void* const address = scratch.slot_mapping_dev.value;
    if (plan.layout.Field("slot_mapping_dev").dtype == DType::kI32) {
      return static_cast<std::int32_t*>(address);
    }
    return static_cast<std::int64_t*>(address);
  }
  float epsilon() const { return static_cast<float>(config.rms_norm_eps); }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_DRAFT_PARTS_H_
