#include "kernels/device/arguments.h"
#include "kernels/row_gather/row_gather.h"
#include "kernels/row_gather/row_gather_traits.h"
#include "kernels/row_gather/sm80_row_gather.cuh"

namespace draftmark::kernels {

Status LaunchRowGather(const RowGatherArgs& args, cudaStream_t stream) {
  using Traits = RowGatherTraits;
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("row_gather")
                         .Size("rows", args.rows)
                         .Size("from", args.from)
                         .Size("width", args.width, 1, kMostBlocksYZ * Traits::kColumns)
                         .Size("index_step", args.index_step)
                         .Pointer("index", args.index)
                         .Pointer("table", args.table)
                         .Pointer("out", args.out)
                         .status());
  const dim3 grid(Blocks(args.rows, 1), Blocks(args.width, Traits::kColumns));
  WithBool(CanVectorise({args.table, args.out}, {args.width}), [&](auto vector) {
    RowGatherKernel<decltype(vector)::value><<<grid, Traits::kThreads, 0, stream>>>(args);
  });
  return LaunchStatus("row_gather");
}

}  // namespace draftmark::kernels
