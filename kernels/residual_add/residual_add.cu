#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/residual_add/residual_add.h"
#include "kernels/residual_add/residual_add_traits.h"
#include "kernels/residual_add/sm80_residual_add.cuh"

namespace draftmark::kernels {

Status LaunchResidualAdd(const ResidualAddArgs& args, cudaStream_t stream) {
  using Traits = ResidualAddTraits;
  if (args.rows == 0) return OkStatus();
  constexpr std::int64_t kElements = Traits::kThreads * kChunk;
  DM_RETURN_IF_ERROR(ArgumentCheck("residual_add")
                         .Size("rows", args.rows)
                         .Size("width", args.width)
                         .Pointer("x", args.x)
                         .Pointer("delta", args.delta)
                         .Rule(CeilDiv(args.rows * args.width, kElements) <= kMostBlocks,
                               "the elements fit one grid")
                         .status());
  const unsigned grid = Blocks(args.rows * args.width, kElements);
  auto* const kernel =
      CanVectorise({args.x, args.delta}, {}) ? ResidualAddKernel<true> : ResidualAddKernel<false>;
  return LaunchDependent("residual_add", kernel, dim3(grid), dim3(Traits::kThreads), 0, stream,
                         args);
}

}  // namespace draftmark::kernels
