// Cache writes: one block for each K or V row.
#ifndef DRAFTMARK_KERNELS_KV_WRITE_SM80_KV_WRITE_CUH_
#define DRAFTMARK_KERNELS_KV_WRITE_SM80_KV_WRITE_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"
#include "kernels/kv_write/kv_write.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

// `slots`: those of the arguments, in their width.
template <bool kVector, typename Slot>
__global__ void KvWriteKernel(KvWriteArgs args, const Slot* slots) {
  const std::int64_t row = blockIdx.x;
  std::int64_t slot = slots[row];
  if (DM_DEVICE_FAULT(kNegativeSlotWritten) && slot < 0) slot += args.pool_slots;
  if (DM_DEVICE_FAULT(kDroppedRow) && row > 0 && row + 1 == gridDim.x) return;
  if (slot < 0 || slot >= args.pool_slots) return;
  const bool is_k = blockIdx.y == 0;
  if (is_k && threadIdx.x == 0 && args.positions != nullptr) {
    args.slot_positions[slot] = args.positions[row];
  }
  CopyRow<kVector>(is_k ? args.k + row * args.width : args.v + row * args.v_stride,
                   (is_k ? args.k_pool : args.v_pool) + slot * args.width,
                   static_cast<int>(args.width));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_WRITE_SM80_KV_WRITE_CUH_
