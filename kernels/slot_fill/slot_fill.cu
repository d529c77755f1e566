#include "kernels/device/arguments.h"
#include "kernels/slot_fill/slot_fill.h"
#include "kernels/slot_fill/slot_fill_traits.h"
#include "kernels/slot_fill/sm80_slot_fill.cuh"

namespace draftmark::kernels {

Status LaunchSlotFill(const SlotFillArgs& args, cudaStream_t stream) {
  using Traits = SlotFillTraits;
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("slot_fill")
                         .Size("rows", args.rows)
                         .Size("band", args.band)
                         .Size("table", args.table)
                         .Rule(args.band > 0 && args.rows % args.band == 0, "band divides rows")
                         .Pointer("block_tables", args.block_tables)
                         .Pointer("first", args.first)
                         .Pointer("slots", args.slots)
                         .status());
  SlotFillKernel<<<Blocks(args.rows, Traits::kThreads), Traits::kThreads, 0, stream>>>(args);
  return LaunchStatus("slot_fill");
}

}  // namespace draftmark::kernels
