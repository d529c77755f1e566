#include <algorithm>
#include <cstdint>

#include "kernels/device/arguments.h"
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/device/tensor_map.h"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_combine_splits.cuh"
#include "kernels/paged_attention/sm80_paged_attention.cuh"
#include "kernels/paged_attention/sm90_paged_attention.cuh"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

using Traits = PagedAttentionTraits;
using Hopper = Traits::Hopper;

// Logical indices are 32-bit numbers on the device, also a window or a block behind the last one.
constexpr std::int64_t kMostKeys = std::int64_t{1} << 30;

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
  return LaunchDependent("paged_attention, splits", PagedAttentionKernel<kHeadDim, kPositions>,
                         grid, dim3(Traits::kThreads), kSharedBytes, stream, args, launch);
}

template <bool kPositions>
Status LaunchForHeadDim(const PagedAttentionArgs& args, const AttentionLaunch& launch, dim3 grid,
                        cudaStream_t stream) {
  if (args.d <= 32) return LaunchSplits<32, kPositions>(args, launch, grid, stream);
  if (args.d <= 64) return LaunchSplits<64, kPositions>(args, launch, grid, stream);
  if (args.d <= 128) return LaunchSplits<128, kPositions>(args, launch, grid, stream);
  return LaunchSplits<256, kPositions>(args, launch, grid, stream);
}

// A warp for each result.
__global__ void __launch_bounds__(PagedAttentionTraits::kThreads)
    CombineSplitsKernel(PagedAttentionArgs args, AttentionLaunch launch, int splits) {
  LaunchDependents();
  WaitForPrevious();
  const std::int64_t result =
      std::int64_t{blockIdx.x} * (PagedAttentionTraits::kThreads / kWarp) + threadIdx.x / kWarp;
  if (result >= args.bands * args.rows * args.heads) return;
  const int split = static_cast<int>(threadIdx.x) % kWarp;
  const float2 stat =
      split < splits ? launch.stats[result * splits + split] : make_float2(-INFINITY, 0.0f);
  const float sink =
      args.sinks != nullptr ? ToFloat(args.sinks[result % args.heads]) * kLog2E : -INFINITY;
  const SplitWeights weights = WeighSplits(stat, sink);
  if (launch.vector) {
    CombineColumns<4>(args, launch, splits, result, weights);
  } else {
    CombineColumns<1>(args, launch, splits, result, weights);
  }
}

Status LaunchCombination(const PagedAttentionArgs& args, const AttentionLaunch& launch,
                         std::int64_t splits, cudaStream_t stream) {
  constexpr int kResults = Traits::kThreads / kWarp;  // of a block
  return LaunchDependent("paged_attention, combination", CombineSplitsKernel,
                         dim3(Blocks(args.bands * args.rows * args.heads, kResults)),
                         dim3(Traits::kThreads), 0, stream, args, launch, static_cast<int>(splits));
}

std::int64_t TilesOf(const PagedAttentionArgs& args) {
  return args.kv * Traits::QueryTiles(args.rows, args.heads / args.kv);
}

// With fewer SMs a cluster may not find room.
bool HopperFits(const PagedAttentionArgs& args) {
  return !args.generic && (args.d == 64 || args.d == 128) &&
         CanVectorise({args.q, args.k_pool, args.v_pool, args.out}, {}) && PoolsFitOneMap(args) &&
         DeviceArch() == Hopper::kMinimumArch &&
         DeviceAttribute(cudaDevAttrMultiProcessorCount) >= Hopper::kMinimumSms &&
         IsBuiltFor(HopperAttentionKernel<64, false>, Hopper::kThreads);
}

// Both pools as [eight slots each][columns of 64][keys, values][8][64], a box for a KV head's part of a
// cache block; nobody says how many slots there are.
Status MakeCacheMap(const PagedAttentionArgs& args, CUtensorMap& map) {
  constexpr std::int64_t kColumns = 64, kEight = 8;
  const std::int64_t width = args.kv * args.d;
  const BFloat16* const first = std::min(args.k_pool, args.v_pool);
  return MakeTensorMap(
      first,
      {.rank = 5,
       .sizes = {kColumns, kEight, 2, width / kColumns, kMostKeys / kEight},
       .strides = {width, std::max(args.k_pool, args.v_pool) - first, kColumns, kEight * width},
       .box = {kColumns, kEight, 2, args.d / kColumns, Traits::kBlockRows / kEight}},
      map);
}

unsigned ClustersOf(const HopperLaunch& launch) {
  return std::min(launch.items, static_cast<unsigned>(Hopper::ClustersAtATime(launch.cluster)));
}

template <int kHeadDim, bool kPositions>
Status LaunchClusters(const PagedAttentionArgs& args, const HopperLaunch& launch,
                      cudaStream_t stream) {
  constexpr auto kKernel = HopperAttentionKernel<kHeadDim, kPositions>;
  constexpr int kSharedBytes = sizeof(HopperMemory<kHeadDim>);
  static_assert(kSharedBytes <= 227 * 1024);
  CUtensorMap map;
  DM_RETURN_IF_ERROR(MakeCacheMap(args, map));
  DM_RETURN_IF_ERROR(CudaStatus(
      cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
      "paged_attention: cudaFuncSetAttribute"));
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaFuncSetAttribute(kKernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                 "paged_attention: cudaFuncSetAttribute"));
  const unsigned clusters = ClustersOf(launch);
  return LaunchDependentClusters("paged_attention, clusters", kKernel,
                                 dim3(clusters * launch.cluster), dim3(Hopper::kThreads),
                                 kSharedBytes, launch.cluster, stream, args, launch, map);
}

Status LaunchHopper(const PagedAttentionArgs& args, AttentionLaunch common, cudaStream_t stream) {
  const std::int64_t tiles = TilesOf(args);
  const std::int64_t parts = Hopper::Parts(tiles);
  const std::int64_t items = args.bands * tiles * parts;
  const std::int64_t results = args.bands * args.rows * args.heads;
  common.partial = reinterpret_cast<float*>(static_cast<char*>(args.workspace) +
                                            Traits::StatsBytes(results, parts));
  HopperLaunch launch = {.common = common,
                         .items = static_cast<unsigned>(items),
                         .query_tiles = static_cast<unsigned>(tiles / args.kv),
                         .parts = static_cast<unsigned>(parts),
                         .cluster = static_cast<unsigned>(Hopper::Cluster(items)),
                         .values_first = args.v_pool < args.k_pool,
                         .results = static_cast<int>(std::min<std::int64_t>(
                             args.rows * (args.heads / args.kv), Traits::kQueries))};
  launch.dealt = static_cast<int>(CeilDiv(launch.results, launch.cluster));
  launch.owners = static_cast<unsigned>(CeilDiv(launch.results, launch.dealt));
  launch.one_round = ClustersOf(launch) == launch.items;
  const bool positions = UsesPositions(args);
  DM_RETURN_IF_ERROR(args.d == 64 ? (positions ? LaunchClusters<64, true>(args, launch, stream)
                                               : LaunchClusters<64, false>(args, launch, stream))
                                  : (positions ? LaunchClusters<128, true>(args, launch, stream)
                                               : LaunchClusters<128, false>(args, launch, stream)));
  return parts == 1 ? OkStatus() : LaunchCombination(args, common, parts, stream);
}

}  // namespace

Status CheckPagedAttention(const PagedAttentionArgs& args) {
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

bool PoolsFitOneMap(const PagedAttentionArgs& args) {
  const auto k = reinterpret_cast<std::uintptr_t>(args.k_pool);
  const auto v = reinterpret_cast<std::uintptr_t>(args.v_pool);
  const std::uintptr_t apart = k > v ? k - v : v - k;
  return apart > 0 && apart <= static_cast<std::uintptr_t>(kMostMapStrideBytes);
}

Status LaunchPagedAttention(const PagedAttentionArgs& args, cudaStream_t stream) {
  if (args.rows == 0 || args.bands == 0) return OkStatus();
  DM_RETURN_IF_ERROR(CheckPagedAttention(args));
  const std::int64_t splits = Traits::Splits(args.rows, args.heads, args.kv);
  const std::int64_t results = args.bands * args.rows * args.heads;
  const AttentionLaunch launch = {
      .stats = static_cast<float2*>(args.workspace),
      .partial = reinterpret_cast<float*>(static_cast<char*>(args.workspace) +
                                          Traits::StatsBytes(results, splits)),
      .scale = AttentionScale(args.d),
      .vector = CanVectorise({args.q, args.k_pool, args.v_pool, args.out}, {args.d})};
  if (HopperFits(args)) return LaunchHopper(args, launch, stream);
  const dim3 grid(Blocks(splits, 1), Blocks(TilesOf(args), 1), Blocks(args.bands, 1));
  DM_RETURN_IF_ERROR(UsesPositions(args) ? LaunchForHeadDim<true>(args, launch, grid, stream)
                                         : LaunchForHeadDim<false>(args, launch, grid, stream));
  return LaunchCombination(args, launch, splits, stream);
}

}  // namespace draftmark::kernels
