// Cache slots: one thread for each row.
#ifndef DRAFTMARK_KERNELS_SLOT_FILL_SM80_SLOT_FILL_CUH_
#define DRAFTMARK_KERNELS_SLOT_FILL_SM80_SLOT_FILL_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/slot_fill/slot_fill.h"
#include "kernels/slot_fill/slot_fill_traits.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

// The slot of one row.
template <typename Slot>
__device__ __forceinline__ void FillSlot(const SlotFillArgs& args, std::int64_t row, Slot* slots) {
  constexpr std::int64_t kBlockRows = SlotFillTraits::kBlockRows;
  const std::int64_t band = row / args.band;
  const std::int64_t index = args.first[band * args.first_step] + row % args.band;
  const std::int64_t entry = index / kBlockRows;
  const std::int64_t slot =
      entry < args.table
          ? args.block_tables[band * args.table + entry] * kBlockRows + index % kBlockRows
          : -1;
  if (DM_DEVICE_FAULT(kSlotsWrittenAs32)) {
    reinterpret_cast<std::int32_t*>(slots)[row] = static_cast<std::int32_t>(slot);
    return;
  }
  const bool fits = static_cast<Slot>(slot) == slot;
  slots[row] = fits ? static_cast<Slot>(slot) : Slot{-1};
}

// `slots`: those of the arguments, in their width.
template <typename Slot>
__global__ void SlotFillKernel(SlotFillArgs args, Slot* slots) {
  LaunchDependents();
  WaitForPrevious();
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row < args.rows) FillSlot(args, row, slots);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SLOT_FILL_SM80_SLOT_FILL_CUH_
