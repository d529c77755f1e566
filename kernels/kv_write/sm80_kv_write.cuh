// Cache writes: one block for each K or V row.
#ifndef DRAFTMARK_KERNELS_KV_WRITE_SM80_KV_WRITE_CUH_
#define DRAFTMARK_KERNELS_KV_WRITE_SM80_KV_WRITE_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"
#include "kernels/kv_write/kv_write.h"

namespace draftmark::kernels {

template <bool kVector>
__global__ void KvWriteKernel(KvWriteArgs args) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t slot = args.slots[row];
  if (slot < 0 || slot >= args.pool_slots) return;
  const bool is_k = blockIdx.y == 0;
  CopyRow<kVector>((is_k ? args.k : args.v) + row * args.width,
                   (is_k ? args.k_pool : args.v_pool) + slot * args.width,
                   static_cast<int>(args.width));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_WRITE_SM80_KV_WRITE_CUH_
