#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
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
  DM_RETURN_IF_ERROR(LaunchDependent("top16, pieces", Top16PieceKernel, grid,
                                     dim3(Traits::kThreads), 0, stream, args, lists));
  return LaunchDependent("top16, rows", Top16RowKernel, dim3(Blocks(args.rows, 1)), dim3(kWarp),
                         static_cast<std::size_t>(pieces), stream, args, lists,
                         static_cast<int>(pieces));
}

}  // namespace draftmark::kernels
