#include "kernels/device/arguments.h"
#include "kernels/top16/sm80_top16.cuh"
#include "kernels/top16/top16.h"
#include "kernels/top16/top16_traits.h"

namespace draftmark::kernels {

Status LaunchTop16(const Top16Args& args, cudaStream_t stream) {
  using Traits = Top16Traits;
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("top16")
                         .Size("rows", args.rows, 1, kMostBlocksYZ)
                         .Size("v", args.v, 1, Traits::kMostPieces * Traits::kPieceElements)
                         .Pointer("logits", args.logits)
                         .Pointer("values", args.values)
                         .Pointer("ids", args.ids)
                         .Workspace(args.workspace, args.workspace_bytes,
                                    args.v > 0 ? Traits::WorkspaceBytes(args.rows, args.v) : 0)
                         .status());
  auto* const lists = static_cast<CandidateKey*>(args.workspace);
  const std::int64_t pieces = Traits::Pieces(args.v);
  const dim3 grid(Blocks(pieces, 1), Blocks(args.rows, 1));
  Top16PieceKernel<<<grid, Traits::kThreads, 0, stream>>>(args, lists);
  DM_RETURN_IF_ERROR(LaunchStatus("top16, pieces"));
  Top16RowKernel<<<Blocks(args.rows, 1), kWarp, static_cast<std::size_t>(pieces), stream>>>(
      args, lists, static_cast<int>(pieces));
  return LaunchStatus("top16, rows");
}

}  // namespace draftmark::kernels
