#include <type_traits>
#include <variant>

#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/embed/embed.h"
#include "kernels/embed/embed_traits.h"
#include "kernels/embed/sm80_embed.cuh"

namespace draftmark::kernels {

namespace {

using Traits = EmbedTraits;
static_assert(Traits::kColumns == Traits::kThreads * kChunk);

Status Check(const EmbedArgs& args) {
  return ArgumentCheck("embed")
      .Size("rows", args.rows)
      .Size("vocabulary", args.vocabulary)
      .Size("h", args.h, 1, kMostBlocksYZ * Traits::kColumns)
      .Size("band", args.band, 0)
      .Pointer("ids", args.ids)
      .Pointer("table", args.table)
      .Pointer("out", args.out)
      .Rule(args.row_sums == nullptr || args.rows <= Traits::kSumRows,
            "row_sums are of at most 16 rows")
      .status();
}

bool Vectorises(const EmbedArgs& args) {
  return CanVectorise({args.table, args.mask_embedding, args.out}, {args.h});
}

dim3 GridOf(const EmbedArgs& args) {
  return dim3(Blocks(args.rows, 1), Blocks(args.h, Traits::kColumns));
}

}  // namespace

Status LaunchEmbed(const EmbedArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(Check(args));
  return LaunchDependent("embed", Vectorises(args) ? EmbedKernel<true> : EmbedKernel<false>,
                         GridOf(args), dim3(Traits::kThreads), 0, stream, args);
}

Status LaunchEmbedWithSlots(const EmbedArgs& args, const SlotFillArgs& fill, cudaStream_t stream) {
  if (args.rows == 0 && fill.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(Check(args));
  DM_RETURN_IF_ERROR(CheckSlotFill(fill));
  DM_RETURN_IF_ERROR(
      ArgumentCheck("embed").Rule(fill.rows == args.rows, "slots are of the same rows").status());
  return std::visit(
      [&](auto* slots) {
        using Slot = std::remove_pointer_t<decltype(slots)>;
        return LaunchDependent(
            "embed with slots",
            Vectorises(args) ? EmbedWithSlotsKernel<true, Slot> : EmbedWithSlotsKernel<false, Slot>,
            GridOf(args), dim3(Traits::kThreads), 0, stream, args, fill, slots);
      },
      fill.slots);
}

}  // namespace draftmark::kernels
