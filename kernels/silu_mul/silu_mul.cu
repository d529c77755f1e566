#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/silu_mul/silu_mul.h"
#include "kernels/silu_mul/silu_mul_traits.h"
#include "kernels/silu_mul/sm80_silu_mul.cuh"

namespace draftmark::kernels {

Status LaunchSiluMul(const SiluMulArgs& args, cudaStream_t stream) {
  using Traits = SiluMulTraits;
  if (args.rows == 0) return OkStatus();
  constexpr std::int64_t kElements = Traits::kThreads * kChunk;
  DM_RETURN_IF_ERROR(ArgumentCheck("silu_mul")
                         .Size("rows", args.rows)
                         .Size("width", args.width)
                         .Pointer("gate", args.gate)
                         .Pointer("up", args.up)
                         .Rule(CeilDiv(args.rows * args.width, kElements) <= kMostBlocks,
                               "the elements fit one grid")
                         .status());
  auto* const kernel =
      CanVectorise({args.gate, args.up}, {}) ? SiluMulKernel<true> : SiluMulKernel<false>;
  return LaunchDependent("silu_mul", kernel, dim3(Blocks(args.rows * args.width, kElements)),
                         dim3(Traits::kThreads), 0, stream, args);
}

}  // namespace draftmark::kernels
