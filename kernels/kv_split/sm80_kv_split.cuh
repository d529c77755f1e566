// Strided copies: one block for each K or V row of each layer.
#ifndef DRAFTMARK_KERNELS_KV_SPLIT_SM80_KV_SPLIT_CUH_
#define DRAFTMARK_KERNELS_KV_SPLIT_SM80_KV_SPLIT_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"
#include "kernels/kv_split/kv_split.h"

namespace draftmark::kernels {

template <bool kVector>
__global__ void KvSplitKernel(KvSplitArgs args) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t layer = blockIdx.y;
  const bool is_k = blockIdx.z == 0;
  // K_0, V_0, K_1, V_1, ...
  const std::int64_t part = (row * args.layers + layer) * 2 + (is_k ? 0 : 1);
  const BFloat16* const source = args.fused + part * args.width;
  BFloat16* const target = (is_k ? args.k : args.v) + (layer * args.rows + row) * args.width;
  CopyRow<kVector>(source, target, static_cast<int>(args.width));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_SPLIT_SM80_KV_SPLIT_CUH_
