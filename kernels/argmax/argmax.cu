#include "kernels/argmax/argmax.h"
#include "kernels/argmax/argmax_traits.h"
#include "kernels/argmax/sm80_argmax.cuh"
#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"

namespace draftmark::kernels {

Status LaunchArgmax(const ArgmaxArgs& args, cudaStream_t stream) {
  using Traits = ArgmaxTraits;
  if (args.rows == 0) return OkStatus();
  ArgmaxArgs full = args;
  if (full.row_stride == 0) full.row_stride = full.v;
  DM_RETURN_IF_ERROR(ArgumentCheck("argmax")
                         .Size("rows", args.rows, 1, kMostBlocksYZ)
                         .Size("v", args.v, 1, INT32_MAX / 2)
                         .Size("token_step", args.token_step)
                         .Rule(full.row_stride >= args.v, "row_stride is at least v")
                         .Pointer("logits", args.logits)
                         .Pointer("tokens", args.tokens)
                         .Workspace(args.workspace, args.workspace_bytes,
                                    args.v > 0 ? Traits::WorkspaceBytes(args.rows, args.v) : 0)
                         .status());
  auto* const keys = static_cast<CandidateKey*>(args.workspace);
  const std::int64_t pieces = Traits::Pieces(args.rows, args.v);
  const auto piece = static_cast<int>(Traits::PieceElements(args.v, pieces));
  const dim3 grid(Blocks(pieces, 1), Blocks(args.rows, 1));
  DM_RETURN_IF_ERROR(LaunchDependent("argmax, pieces", ArgmaxPieceKernel, grid,
                                     dim3(Traits::kThreads), 0, stream, full, piece, keys));
  return LaunchDependent("argmax, rows", ArgmaxRowKernel, dim3(Blocks(args.rows, 1)), dim3(kWarp),
                         0, stream, keys, static_cast<int>(pieces), static_cast<int>(pieces), 1,
                         args.tokens, args.token_step);
}

Status LaunchBestOfRows(const BestOfRowsArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("best_of_rows")
                         .Size("rows", args.rows, 1, kMostBlocksYZ)
                         .Size("parts", args.parts)
                         .Size("rows_apart", args.rows_apart, args.rows)
                         .Pointer("keys", args.keys)
                         .Pointer("tokens", args.tokens)
                         .status());
  static_assert(sizeof(CandidateKey) == sizeof(std::uint64_t));
  return LaunchDependent("best_of_rows", ArgmaxRowKernel, dim3(Blocks(args.rows, 1)), dim3(kWarp),
                         0, stream, reinterpret_cast<const CandidateKey*>(args.keys),
                         static_cast<int>(args.parts), 1, static_cast<int>(args.rows_apart),
                         args.tokens, std::int64_t{1});
}

}  // namespace draftmark::kernels
