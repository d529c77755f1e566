#include "kernels/device/arguments.h"
#include "kernels/kv_split/kv_split.h"
#include "kernels/kv_split/kv_split_traits.h"
#include "kernels/kv_split/sm80_kv_split.cuh"

namespace draftmark::kernels {

Status LaunchKvSplit(const KvSplitArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("kv_split")
                         .Size("rows", args.rows)
                         .Size("layers", args.layers, 1, kMostBlocksYZ)
                         .Size("width", args.width)
                         .Pointer("fused", args.fused)
                         .Pointer("k", args.k)
                         .status());
  const dim3 grid(Blocks(args.rows, 1), Blocks(args.layers, 1), args.v != nullptr ? 2 : 1);
  WithBool(CanVectorise({args.fused, args.k, args.v}, {args.width}), [&](auto vector) {
    KvSplitKernel<decltype(vector)::value><<<grid, KvSplitTraits::kThreads, 0, stream>>>(args);
  });
  return LaunchStatus("kv_split");
}

}  // namespace draftmark::kernels
