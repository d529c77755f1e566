#include <variant>

#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/device/slots.h"
#include "kernels/slot_fill/slot_fill.h"
#include "kernels/slot_fill/slot_fill_traits.h"
#include "kernels/slot_fill/sm80_slot_fill.cuh"

namespace draftmark::kernels {

Status CheckSlotFill(const SlotFillArgs& args) {
  return ArgumentCheck("slot_fill")
      .Size("rows", args.rows)
      .Size("band", args.band)
      .Size("table", args.table)
      .Size("first_step", args.first_step)
      .Rule(args.band > 0 && args.rows % args.band == 0, "band divides rows")
      .Pointer("block_tables", args.block_tables)
      .Pointer("first", args.first)
      .Pointer("slots", AddressOf(ReadOnly(args.slots)))
      .status();
}

Status LaunchSlotFill(const SlotFillArgs& args, cudaStream_t stream) {
  using Traits = SlotFillTraits;
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(CheckSlotFill(args));
  const dim3 grid(Blocks(args.rows, Traits::kThreads));
  const dim3 block(Traits::kThreads);
  if (auto* const* const wide = std::get_if<std::int64_t*>(&args.slots)) {
    return LaunchDependent("slot_fill", SlotFillKernel<std::int64_t>, grid, block, 0, stream, args,
                           *wide);
  }
  return LaunchDependent("slot_fill", SlotFillKernel<std::int32_t>, grid, block, 0, stream, args,
                         std::get<std::int32_t*>(args.slots));
}

}  // namespace draftmark::kernels
