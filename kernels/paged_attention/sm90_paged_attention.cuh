// Attention over paged keys on Hopper: a block for each SM, clusters that share an item's keys
// (sm90_attention_work.cuh), and everything in flight at once.
//
// Two warps copy keys and values; two warpgroups multiply, tile by tile in turns; two warps
// fetch queries and put results together (sm90_gather_results.cuh), which the multiplying ones do where they have
// nothing else to do any more. They meet at barriers only, so that the next item's keys are copied while one's
// results are gathered.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_PAGED_ATTENTION_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_PAGED_ATTENTION_CUH_

#include <cuda.h>

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/cluster.cuh"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm90_attention_copies.cuh"
#include "kernels/paged_attention/sm90_attention_tile.cuh"
#include "kernels/paged_attention/sm90_attention_work.cuh"
#include "kernels/paged_attention/sm90_gather_results.cuh"

namespace draftmark::kernels {

// The multiplying warpgroups.
template <int kHeadDim, bool kPositions>
__device__ __forceinline__ void AttendAll(const PagedAttentionArgs& args,
                                          const HopperLaunch& launch,
                                          HopperMemory<kHeadDim>& memory) {
  using Hopper = PagedAttentionTraits::Hopper;
  const int group = static_cast<int>(threadIdx.x) / Hopper::kGroupThreads;
  unsigned own = 0;  // tiles of this warpgroup
  const unsigned clusters = gridDim.x / launch.cluster;
  const unsigned rounds = (launch.items + clusters - 1 - blockIdx.x / launch.cluster) / clusters;
  for (unsigned round = 0; round < rounds; ++round) {
    WaitFor(&memory.queries_full, round & 1);
    const AttentionWork work = memory.work;
    GroupQueries<kHeadDim> queries;
    queries.Start(args, work);
    const int tiles = (work.units + Hopper::kUnits - 1) / Hopper::kUnits;
    for (int t = group; t < tiles; t += Hopper::kGroups) {
      queries.template Attend<kPositions>(
          args, launch, work,
          work.first_unit * PagedAttentionTraits::kBlockRows + t * Hopper::kKeys,
          TilePlace<HopperMemory<kHeadDim>::kStagesOfGroup>(group, own++), memory);
    }
    __syncwarp();  // the work is read
    if (threadIdx.x % kWarp == 0) Arrive(&memory.queries_empty);
    SendResults<kHeadDim>(launch, round, queries, memory);
    // All warps are free to put the only results together.
    if (launch.one_round) {
      constexpr int kWarps = Hopper::kGroups * Hopper::kGroupThreads / kWarp;
      TakeResults<kHeadDim, kWarps, 4>(args, launch, work, static_cast<int>(RankInCluster()), round,
                                       static_cast<int>(threadIdx.x) / kWarp, memory);
    }
  }
}

// The helpers; `work` is the first item, if there are `more`. The next one's queries are on their way to
// registers before this one's are needed no more.
template <int kHeadDim, bool kPositions>
__device__ __forceinline__ void Help(const PagedAttentionArgs& args, const HopperLaunch& launch,
                                     WorkList<kPositions>& list, bool more, AttentionWork work,
                                     int helper, HopperMemory<kHeadDim>& memory) {
  const int rank = list.rank();
  const int dealt = DealtTo(launch, rank);
  // From the other blocks
  const auto bytes = static_cast<unsigned>((launch.cluster - 1) * dealt *
                                           HopperMemory<kHeadDim>::kPitch * sizeof(float));
  AttentionWork next;
  HeldQueries<kHeadDim> queries;
  if (more) {
    queries.Load(args, work, helper);
    queries.Store(work, helper, memory);
  }
  for (unsigned round = 0; more; ++round) {
    more = list.Next(next);
    if (more) queries.Load(args, next, helper);
    if (helper == 0 && dealt > 0) ArriveExpecting(&memory.received_full, bytes);
    if (more) {
      WaitFor(&memory.queries_empty, round & 1);
      queries.Store(next, helper, memory);
    }
    if (!launch.one_round) TakeRound<kHeadDim>(args, launch, work, rank, round, helper, memory);
    work = next;
  }
}

// Grid: clusters of launch.cluster blocks.
template <int kHeadDim, bool kPositions>
__global__ void __launch_bounds__(DM_WARPGROUP ? PagedAttentionTraits::Hopper::kThreads
                                               : kNoThreads,
                                  1)
    HopperAttentionKernel([[maybe_unused]] const __grid_constant__ PagedAttentionArgs args,
                          [[maybe_unused]] const __grid_constant__ HopperLaunch launch,
                          [[maybe_unused]] const __grid_constant__ CUtensorMap map) {
#if DM_WARPGROUP
  using Hopper = PagedAttentionTraits::Hopper;
  LaunchDependents();
  extern __shared__ __align__(1024) unsigned char hopper_memory[];
  auto& memory = *reinterpret_cast<HopperMemory<kHeadDim>*>(hopper_memory);
  constexpr int kFirstCopier = Hopper::kGroups * Hopper::kGroupThreads / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (threadIdx.x == 0) {
    PrefetchMap(&map);
    memory.InitBarriers(launch.owners);
  }
  __syncthreads();
  // Nobody arrives on a barrier of a block that has not set it up.
  ClusterArrive();
  WorkList<kPositions> list(args, launch);
  // Records and tables are a call's inputs: no kernel writes them. The first item is known, and its
  // cache blocks, before the kernel in front has ended.
  list.Fetch();
  AttentionWork first;
  const bool more = warp >= kFirstCopier && list.Next(first);
  TileCopier<kHeadDim, kPositions> copier(args, &map, warp - kFirstCopier, memory);
  if (warp >= kFirstCopier && warp < kFirstCopier + Hopper::kCopiers) copier.LookAhead(more, first);
  ClusterWait();

  if (warp < kFirstCopier) {
    WaitForPrevious();
    AttendAll<kHeadDim, kPositions>(args, launch, memory);
  } else if (warp < kFirstCopier + Hopper::kCopiers) {
    copier.Run(list, more, first);  // waits where it must
  } else {
    WaitForPrevious();
    constexpr int kFirstHelper = (kFirstCopier + Hopper::kCopiers) * kWarp;
    Help<kHeadDim, kPositions>(args, launch, list, more, first,
                               static_cast<int>(threadIdx.x) - kFirstHelper, memory);
  }

  // Nobody leaves while another block reads or writes his memory.
  __syncwarp();
  ClusterArrive();
  ClusterWait();
#endif
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_PAGED_ATTENTION_CUH_
