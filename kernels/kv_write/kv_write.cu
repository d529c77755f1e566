#include <variant>

#include "kernels/device/arguments.h"
#include "kernels/device/slots.h"
#include "kernels/kv_write/kv_write.h"
#include "kernels/kv_write/kv_write_traits.h"
#include "kernels/kv_write/sm80_kv_write.cuh"

namespace draftmark::kernels {

Status LaunchKvWrite(const KvWriteArgs& given, cudaStream_t stream) {
  KvWriteArgs args = given;
  if (args.v_stride == 0) args.v_stride = args.width;
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("kv_write")
                         .Size("rows", args.rows)
                         .Size("width", args.width)
                         .Size("pool_slots", args.pool_slots, 1, INT64_MAX)
                         .Size("v_stride", args.v_stride, args.width, INT64_MAX)
                         .Pointer("k", args.k)
                         .Pointer("v", args.v)
                         .Pointer("slots", AddressOf(args.slots))
                         .Pointer("k_pool", args.k_pool)
                         .Pointer("v_pool", args.v_pool)
                         .Rule((args.positions == nullptr) == (args.slot_positions == nullptr),
                               "positions and slot_positions come together")
                         .status());
  const dim3 grid(Blocks(args.rows, 1), /*K and V*/ 2);
  const bool can_vectorise =
      CanVectorise({args.k, args.v, args.k_pool, args.v_pool}, {args.width, args.v_stride});
  std::visit(
      [&](const auto* slots) {
        WithBool(can_vectorise, [&](auto vector) {
          KvWriteKernel<decltype(vector)::value>
              <<<grid, KvWriteTraits::kThreads, 0, stream>>>(args, slots);
        });
      },
      args.slots);
  return LaunchStatus("kv_write");
}

}  // namespace draftmark::kernels
