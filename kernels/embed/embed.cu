#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/embed/embed.h"
#include "kernels/embed/embed_traits.h"
#include "kernels/embed/sm80_embed.cuh"

namespace draftmark::kernels {

Status LaunchEmbed(const EmbedArgs& args, cudaStream_t stream) {
  using Traits = EmbedTraits;
  if (args.rows == 0) return OkStatus();
  constexpr std::int64_t kColumns = Traits::kColumns;
  static_assert(kColumns == Traits::kThreads * kChunk);
  DM_RETURN_IF_ERROR(ArgumentCheck("embed")
                         .Size("rows", args.rows)
                         .Size("vocabulary", args.vocabulary)
                         .Size("h", args.h, 1, kMostBlocksYZ * kColumns)
                         .Size("band", args.band, 0)
                         .Pointer("ids", args.ids)
                         .Pointer("table", args.table)
                         .Pointer("out", args.out)
                         .Rule(args.row_sums == nullptr || args.rows <= Traits::kSumRows,
                               "row_sums are of at most 16 rows")
                         .status());
  const dim3 grid(Blocks(args.rows, 1), Blocks(args.h, kColumns));
  auto* const kernel = CanVectorise({args.table, args.mask_embedding, args.out}, {args.h})
                           ? EmbedKernel<true>
                           : EmbedKernel<false>;
  return LaunchDependent("embed", kernel, grid, dim3(Traits::kThreads), 0, stream, args);
}

}  // namespace draftmark::kernels
