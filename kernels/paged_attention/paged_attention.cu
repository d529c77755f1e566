#include <cmath>

#include "kernels/device/arguments.h"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_combine_splits.cuh"
#include "kernels/paged_attention/sm80_paged_attention.cuh"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

using Traits = PagedAttentionTraits;

Status Check(const PagedAttentionArgs& args) {
  // Logical indices are 32-bit numbers on the device, also a window or a block behind the last one.
  constexpr std::int64_t kMostKeys = std::int64_t{1} << 30;
  ArgumentCheck check("paged_attention");
  check.Size("bands", args.bands, 1, kMostBlocksYZ)
      .Size("rows", args.rows, 1, kMostBlocksYZ)
      .Size("heads", args.heads, 1, kMostBlocksYZ)
      .Size("kv", args.kv)
      .Rule(args.kv > 0 && args.heads % args.kv == 0, "kv divides heads")
      .Size("d", args.d, 1, Traits::kMostHeadDim)
      .Size("table", args.table, 1, kMostKeys / Traits::kBlockRows)
      .Size("record_words", args.record_words, 2)
      .Rule(args.slot_positions == nullptr || args.record_words >= 3,
            "slot_positions need records with q_rope_pos, three words")
      .Size("window", args.window, 0)
      .Pointer("q", args.q)
      .Pointer("k_pool", args.k_pool)
      .Pointer("v_pool", args.v_pool)
      .Pointer("block_tables", args.block_tables)
      .Pointer("arguments", args.arguments)
      .Pointer("out", args.out);
  if (!check.status().ok()) return check.status();
  return check
      .Rule(args.kv * Traits::QueryTiles(args.rows, args.heads / args.kv) <= kMostBlocksYZ &&
                args.bands * args.rows * args.heads <= kMostBlocks,
            "rows and heads fit one grid")
      .Workspace(args.workspace, args.workspace_bytes,
                 Traits::WorkspaceBytes(args.bands, args.rows, args.heads, args.kv, args.d))
      .status();
}

template <int kHeadDim, bool kPositions>
Status LaunchSplits(const PagedAttentionArgs& args, const AttentionLaunch& launch, dim3 grid,
                    cudaStream_t stream) {
  constexpr int kSharedBytes = Traits::Tile<kHeadDim>::kSharedBytes;
  static_assert(kSharedBytes <= 99 * 1024, "what every supported GPU can give to a block");
  if constexpr (kSharedBytes > 48 * 1024) {
    DM_RETURN_IF_ERROR(
        CudaStatus(cudaFuncSetAttribute(PagedAttentionKernel<kHeadDim, kPositions>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
                   "paged_attention: cudaFuncSetAttribute"));
  }
  PagedAttentionKernel<kHeadDim, kPositions>
      <<<grid, Traits::kThreads, kSharedBytes, stream>>>(args, launch);
  return LaunchStatus("paged_attention, splits");
}

template <bool kPositions>
Status LaunchForHeadDim(const PagedAttentionArgs& args, const AttentionLaunch& launch, dim3 grid,
                        cudaStream_t stream) {
  if (args.d <= 32) return LaunchSplits<32, kPositions>(args, launch, grid, stream);
  if (args.d <= 64) return LaunchSplits<64, kPositions>(args, launch, grid, stream);
  if (args.d <= 128) return LaunchSplits<128, kPositions>(args, launch, grid, stream);
  return LaunchSplits<256, kPositions>(args, launch, grid, stream);
}

}  // namespace

Status LaunchPagedAttention(const PagedAttentionArgs& args, cudaStream_t stream) {
  if (args.rows == 0 || args.bands == 0) return OkStatus();
  DM_RETURN_IF_ERROR(Check(args));
  const std::int64_t splits = Traits::Splits(args.rows, args.heads, args.kv);
  const std::int64_t results = args.bands * args.rows * args.heads;
  const AttentionLaunch launch = {
      .stats = static_cast<float2*>(args.workspace),
      .partial = reinterpret_cast<float*>(static_cast<char*>(args.workspace) +
                                          Traits::StatsBytes(results, splits)),
      .scale = static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(args.d))),
      .vector = CanVectorise({args.q, args.k_pool, args.v_pool}, {args.d})};
  const dim3 grid(Blocks(splits, 1),
                  Blocks(args.kv * Traits::QueryTiles(args.rows, args.heads / args.kv), 1),
                  Blocks(args.bands, 1));
  const bool masked = args.causal || args.window > 0;
  DM_RETURN_IF_ERROR(args.slot_positions != nullptr && masked
                         ? LaunchForHeadDim<true>(args, launch, grid, stream)
                         : LaunchForHeadDim<false>(args, launch, grid, stream));
  CombineSplitsKernel<<<Blocks(results, 1), Traits::kThreads, 0, stream>>>(
      args, launch, static_cast<int>(splits));
  return LaunchStatus("paged_attention, combination");
}

}  // namespace draftmark::kernels
