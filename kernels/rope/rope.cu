#include "kernels/device/arguments.h"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_traits.h"
#include "kernels/rope/sm80_rope.cuh"

namespace draftmark::kernels {

Status LaunchRope(const RopeArgs& args, cudaStream_t stream) {
  using Traits = RopeTraits;
  if (args.rows == 0) return OkStatus();
  const std::int64_t pairs = args.rotary / 2;
  DM_RETURN_IF_ERROR(ArgumentCheck("rope")
                         .Size("rows", args.rows)
                         .Size("heads", args.heads, 1, kMostBlocksYZ * Traits::kHeads)
                         .Size("d", args.d)
                         .Size("rotary", args.rotary, 2, 2 * Traits::kMostPairs)
                         .Rule(args.rotary % 2 == 0, "rotary is even")
                         .Rule(args.partner >= pairs && args.partner <= args.d - pairs,
                               "the pairs (i, i + partner) lie within the head, without overlap")
                         .Pointer("x", args.x)
                         .Pointer("frequency", args.frequency)
                         .Pointer("positions", args.positions)
                         .status());
  const dim3 grid(Blocks(args.rows, 1), Blocks(args.heads, Traits::kHeads));
  WithBool(CanVectorise({args.x}, {args.d, pairs, args.partner}), [&](auto vector) {
    RopeKernel<decltype(vector)::value>
        <<<grid, Traits::kThreads, Traits::SharedBytes(pairs), stream>>>(args);
  });
  return LaunchStatus("rope");
}

}  // namespace draftmark::kernels
