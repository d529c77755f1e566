#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm/rms_norm_traits.h"
#include "kernels/rms_norm/sm80_rms_norm.cuh"

namespace draftmark::kernels {

Status LaunchRmsNorm(const RmsNormArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  // Columns of threads past the row's end are computed in 32 bits as well.
  constexpr std::int64_t kMostColumns = INT32_MAX / 2;
  DM_RETURN_IF_ERROR(ArgumentCheck("rms_norm")
                         .Size("rows", args.rows)
                         .Size("h", args.h, 1, kMostColumns)
                         .Pointer("x", args.x)
                         .Pointer("weight", args.weight)
                         .Pointer("y", args.y)
                         .Rule(args.epsilon >= 0, "epsilon is not negative")
                         .Rule((args.delta == nullptr) == (args.sum == nullptr),
                               "delta and sum are there together")
                         .Rule(args.delta == nullptr || (args.y != args.x && args.y != args.sum),
                               "with delta y is neither x nor sum")
                         .status());
  const int threads = RmsNormTraits::Threads(args.h);
  auto* const kernel = CanVectorise({args.x, args.weight, args.y, args.delta, args.sum}, {args.h})
                           ? RmsNormKernel<true>
                           : RmsNormKernel<false>;
  return LaunchDependent("rms_norm", kernel, dim3(Blocks(args.rows, 1)),
                         dim3(static_cast<unsigned>(threads)), 0, stream, args);
}

}  // namespace draftmark::kernels
