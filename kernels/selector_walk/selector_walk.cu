#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/selector_walk/selector_walk.h"
#include "kernels/selector_walk/selector_walk_traits.h"
#include "kernels/selector_walk/sm80_selector_walk.cuh"

namespace draftmark::kernels {

Status LaunchSelectorWalk(const SelectorWalkArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("selector_walk")
                         .Size("rows", args.rows)
                         .Size("band", args.band)
                         .Size("v", args.v)
                         .Size("r", args.r, 1, INT32_MAX / 2)
                         .Rule(args.band > 0 && args.rows % args.band == 0, "band divides rows")
                         .Pointer("values", args.values)
                         .Pointer("ids", args.ids)
                         .Pointer("hidden", args.hidden)
                         .Size("anchor_step", args.anchor_step)
                         .Pointer("anchors", args.anchors)
                         .Pointer("predecessor", args.predecessor)
                         .Pointer("successor", args.successor)
                         .Pointer("tokens", args.tokens)
                         .status());
  const unsigned grid = Blocks(args.rows, args.band);
  auto* const kernel = CanVectorise({args.hidden, args.predecessor, args.successor}, {args.r})
                           ? SelectorWalkKernel<true>
                           : SelectorWalkKernel<false>;
  return LaunchDependent("selector_walk", kernel, dim3(grid), dim3(SelectorWalkTraits::kThreads), 0,
                         stream, args);
}

}  // namespace draftmark::kernels
