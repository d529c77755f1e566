#include "kernels/conv/conv.h"
#include "kernels/conv/conv_traits.h"
#include "kernels/conv/sm80_conv.cuh"
#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"

namespace draftmark::kernels {

Status LaunchConv(const ConvArgs& args, cudaStream_t stream) {
  using Traits = ConvTraits;
  const std::string_view name = args.side == ConvSide::kPrepare ? "conv_prepare" : "conv_finish";
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck(name)
                         .Size("rows", args.rows)
                         .Size("h", args.h, 1, kMostBlocksYZ * Traits::kThreads)
                         .Size("taps", args.taps)
                         .Size("group", args.group)
                         .Size("band", args.band)
                         .Rule(args.group > 0 && args.h % args.group == 0, "group divides h")
                         .Rule(args.band > 0 && args.rows % args.band == 0, "band divides rows")
                         .Pointer("x", args.x)
                         .Pointer("dynamic", args.dynamic)
                         .Pointer("base", args.base)
                         .Pointer("out", args.out)
                         .Rule(args.out != args.x, "out does not alias x")
                         .status());
  const bool vector = CanVectorise({args.x, args.base, args.out}, {args.h, args.group});
  auto* const kernel = vector ? ConvKernel<true> : ConvKernel<false>;
  const dim3 grid(Blocks(args.rows, 1), Blocks(args.h, Traits::kThreads * (vector ? kChunk : 1)));
  return LaunchDependent(name, kernel, grid, dim3(Traits::kThreads), 0, stream, args);
}

}  // namespace draftmark::kernels
