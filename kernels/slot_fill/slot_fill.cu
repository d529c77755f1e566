#include <variant>

#include "kernels/device/arguments.h"
#include "kernels/device/slots.h"
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
                         .Size("first_step", args.first_step)
                         .Rule(args.band > 0 && args.rows % args.band == 0, "band divides rows")
                         .Pointer("block_tables", args.block_tables)
                         .Pointer("first", args.first)
                         .Pointer("slots", AddressOf(ReadOnly(args.slots)))
                         .status());
  std::visit(
      [&](auto* slots) {
        SlotFillKernel<<<Blocks(args.rows, Traits::kThreads), Traits::kThreads, 0, stream>>>(args,
                                                                                             slots);
      },
      args.slots);
  return LaunchStatus("slot_fill");
}

}  // namespace draftmark::kernels
