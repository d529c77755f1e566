#include "kernels/device/arguments.h"
#include "kernels/head_norm/head_norm.h"
#include "kernels/head_norm/head_norm_traits.h"
#include "kernels/head_norm/sm80_head_norm.cuh"

namespace draftmark::kernels {
namespace {

template <int kLanes>
void Launch(const HeadNormArgs& args, cudaStream_t stream) {
  constexpr int kThreads = HeadNormTraits::kThreads;
  const unsigned grid = Blocks(args.rows * args.heads, kThreads / kLanes);
  WithBool(CanVectorise({args.x, args.weight, args.y}, {args.d}), [&](auto vector) {
    HeadNormKernel<decltype(vector)::value, kLanes><<<grid, kThreads, 0, stream>>>(args);
  });
}

}  // namespace

Status LaunchHeadNorm(const HeadNormArgs& args, cudaStream_t stream) {
  using Traits = HeadNormTraits;
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("head_norm")
                         .Size("rows", args.rows)
                         .Size("heads", args.heads)
                         .Size("d", args.d, 1, INT32_MAX / 2)
                         .Pointer("x", args.x)
                         .Pointer("weight", args.weight)
                         .Pointer("y", args.y)
                         .Rule(args.epsilon >= 0, "epsilon is not negative")
                         .Rule(args.rows * args.heads <= kMostBlocks, "the heads fit one grid")
                         .status());
  if (args.d <= Traits::kLanes64 * kChunk) {
    Launch<Traits::kLanes64>(args, stream);
  } else if (args.d <= Traits::kLanes128 * kChunk) {
    Launch<Traits::kLanes128>(args, stream);
  } else {
    Launch<Traits::kLanesWide>(args, stream);
  }
  return LaunchStatus("head_norm");
}

}  // namespace draftmark::kernels
