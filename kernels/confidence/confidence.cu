#include "kernels/confidence/confidence.h"
#include "kernels/confidence/confidence_traits.h"
#include "kernels/confidence/sm80_confidence.cuh"
#include "kernels/device/arguments.h"

namespace draftmark::kernels {

Status LaunchConfidence(const ConfidenceArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(
      ArgumentCheck("confidence")
          .Size("rows", args.rows)
          .Size("h", args.h, 1, INT32_MAX / 2)
          .Size("r", args.r, 0, INT32_MAX / 2)
          .Size("row_step", args.row_step)
          .Pointer("hidden", args.hidden)
          .Rule(args.r == 0 || args.embedding != nullptr, "a head with r > 0 has an embedding")
          .Pointer("proj", args.proj)
          .Pointer("bias", args.bias)
          .Pointer("kappa", args.kappa)
          .status());
  WithBool(CanVectorise({args.hidden, args.embedding, args.proj}, {args.h, args.r}),
           [&](auto vector) {
             ConfidenceKernel<decltype(vector)::value>
                 <<<Blocks(args.rows, 1), ConfidenceTraits::kThreads, 0, stream>>>(args);
           });
  return LaunchStatus("confidence");
}

}  // namespace draftmark::kernels
