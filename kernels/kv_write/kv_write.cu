#include "kernels/device/arguments.h"
#include "kernels/kv_write/kv_write.h"
#include "kernels/kv_write/kv_write_traits.h"
#include "kernels/kv_write/sm80_kv_write.cuh"

namespace draftmark::kernels {

Status LaunchKvWrite(const KvWriteArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("kv_write")
                         .Size("rows", args.rows)
                         .Size("width", args.width)
                         .Size("pool_slots", args.pool_slots, 1, INT64_MAX)
                         .Pointer("k", args.k)
                         .Pointer("v", args.v)
                         .Pointer("slots", args.slots)
                         .Pointer("k_pool", args.k_pool)
                         .Pointer("v_pool", args.v_pool)
                         .status());
  const dim3 grid(Blocks(args.rows, 1), /*K and V*/ 2);
  WithBool(
      CanVectorise({args.k, args.v, args.k_pool, args.v_pool}, {args.width}), [&](auto vector) {
        KvWriteKernel<decltype(vector)::value><<<grid, KvWriteTraits::kThreads, 0, stream>>>(args);
      });
  return LaunchStatus("kv_write");
}

}  // namespace draftmark::kernels
