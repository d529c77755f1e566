// How the results of a cluster's blocks come together on sm_90: each block adds its warpgroups' up and
// sends every owner his queries' part, with what the copy engine can do between blocks; the owner waits
// for the parts of all, and adds them in the blocks' order.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_GATHER_RESULTS_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_GATHER_RESULTS_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/cluster.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_combine_splits.cuh"
#include "kernels/paged_attention/sm90_attention_tile.cuh"
#include "kernels/paged_attention/sm90_attention_work.cuh"
#include "kernels/paged_attention/sm90_merge_groups.cuh"

namespace draftmark::kernels {

// Copies `bytes` (a multiple of 16) of this block's shared memory to another block's, whose barrier
// counts them. Addresses of the other block are those of AddressInBlock.
__device__ __forceinline__ void SendToBlock(std::uint32_t to, const void* from, unsigned bytes,
                                            std::uint32_t barrier) {
#if DM_HOPPER
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];\n" ::"r"(to),
      "r"(SharedAddress(from)), "r"(bytes), "r"(barrier)
      : "memory");
#endif
}

// This block's results of the queries that are dealt to it. Bulk copies are for other blocks.
template <int kHeadDim>
__device__ __forceinline__ void KeepResults(const HopperLaunch& launch, int rank,
                                            HopperMemory<kHeadDim>& memory) {
  using Hopper = PagedAttentionTraits::Hopper;
  constexpr int kPieces = Hopper::kPitch<kHeadDim> / 4;  // of 16 bytes, of a query
  const int rows = DealtTo(launch, rank);
  const auto* const from =
      reinterpret_cast<const float4*>(memory.own) + rank * launch.dealt * kPieces;
  auto* const to = reinterpret_cast<float4*>(memory.received) + rank * rows * kPieces;
  for (int i = static_cast<int>(threadIdx.x); i < rows * kPieces;
       i += Hopper::kGroups * Hopper::kGroupThreads) {
    to[i] = from[i];
  }
  __syncwarp();
  if (threadIdx.x % kWarp == 0) Arrive(&memory.received_full);
}

// By both warpgroups, after their tiles of the round's item.
template <int kHeadDim>
__device__ __forceinline__ void SendResults(const HopperLaunch& launch, unsigned round,
                                            const GroupQueries<kHeadDim>& queries,
                                            HopperMemory<kHeadDim>& memory) {
  using Hopper = PagedAttentionTraits::Hopper;
  constexpr int kPitch = Hopper::kPitch<kHeadDim>;
  constexpr int kAll = Hopper::kGroups * Hopper::kGroupThreads;
  MergeGroups(queries, launch.results, memory.stats, memory.own, [&] {
    // What was sent last must have arrived everywhere before it is written over.
    if (round > 0) WaitForBlocks(&memory.results_passed, (round - 1) & 1);
  });
  FenceShared();
  SyncThreads(1, kAll);
  const unsigned rank = RankInCluster();
  if (rank < launch.owners) KeepResults<kHeadDim>(launch, static_cast<int>(rank), memory);
  // All warps ask for some of the copies.
  for (unsigned owner = threadIdx.x / kWarp; owner < launch.owners; owner += kAll / kWarp) {
    if (owner == rank || !Elected()) continue;
    const int rows = DealtTo(launch, static_cast<int>(owner));
    SendToBlock(AddressInBlock(memory.received + rank * rows * kPitch, owner),
                memory.own + owner * launch.dealt * kPitch,
                static_cast<unsigned>(rows * kPitch * sizeof(float)),
                AddressInBlock(&memory.received_full, owner));
  }
}

// A lane's columns of a query's results.
template <int kWidth>
struct ResultColumns {
  float values[kWidth];

  __device__ __forceinline__ void Read(const float* from) {
    if constexpr (kWidth == 4) {
      const float4 four = *reinterpret_cast<const float4*>(from);
      values[0] = four.x;
      values[1] = four.y;
      values[2] = four.z;
      values[3] = four.w;
    } else {
      const float2 two = *reinterpret_cast<const float2*>(from);
      values[0] = two.x;
      values[1] = two.y;
    }
  }
  __device__ __forceinline__ void Write(float* to) const {
    if constexpr (kWidth == 4) {
      *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
    } else {
      *reinterpret_cast<float2*>(to) = make_float2(values[0], values[1]);
    }
  }
  __device__ __forceinline__ void WriteRounded(BFloat16* to) const {
    if constexpr (kWidth == 4) {
      *reinterpret_cast<uint2*>(to) =
          make_uint2(RoundPair(values[0], values[1]), RoundPair(values[2], values[3]));
    } else {
      *reinterpret_cast<std::uint32_t*>(to) = RoundPair(values[0], values[1]);
    }
  }
};

// Where the results of some queries go: `first`, first + kApart, ...
template <int kQueries, int kApart>
struct ResultPlaces {
  std::int64_t result[kQueries];
  float sink[kQueries];  // in powers of two; -inf for none

  // Places behind the last query are those of others, and not to be written.
  __device__ __forceinline__ void Find(const PagedAttentionArgs& args, const HopperLaunch& launch,
                                       const AttentionWork& work, int first) {
    const auto heads = static_cast<int>(args.heads);
    const int group = heads / static_cast<int>(args.kv);
    const bool sinks = launch.parts == 1 && args.sinks != nullptr;
    int row = first / group;
    int head = first % group;
#pragma unroll
    for (int i = 0; i < kQueries; ++i) {
      const int of_all = work.kv_head * group + head;
      result[i] = (work.band * args.rows + row) * heads + of_all;
      sink[i] = sinks ? ToFloat(args.sinks[of_all]) * kLog2E : -INFINITY;
#pragma unroll
      for (int step = 0; step < kApart; ++step) {
        if (++head == group) {
          head = 0;
          ++row;
        }
      }
    }
  }
};

// Puts some queries' results together, those of all blocks of the cluster: by one warp, all queries at
// the same time, as one's steps wait for each other. `count` of them are to be written. `results`: of
// the first query and block; queries are kApart rows apart, blocks `block_step` floats.
template <int kHeadDim, int kQueries, int kApart>
__device__ __forceinline__ void AddBlocks(const PagedAttentionArgs& args,
                                          const HopperLaunch& launch, int part,
                                          const ResultPlaces<kQueries, kApart>& places, int count,
                                          const float* results, int block_step) {
  constexpr int kPitch = HopperMemory<kHeadDim>::kPitch;
  constexpr int kWidth = kHeadDim / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto cluster = static_cast<int>(launch.cluster);
  const auto row = [&](int i) { return results + min(i, count - 1) * kApart * kPitch; };
  float2 stats[kQueries];
#pragma unroll
  for (int i = 0; i < kQueries; ++i) {
    stats[i] = lane < cluster
                   ? *reinterpret_cast<const float2*>(row(i) + lane * block_step + kHeadDim)
                   : make_float2(-INFINITY, 0.0f);
  }
  SplitWeights weights[kQueries];
  ResultColumns<kWidth> sums[kQueries];
#pragma unroll
  for (int i = 0; i < kQueries; ++i) {
    weights[i] = WeighSplits(stats[i], places.sink[i]);
    for (float& value : sums[i].values) value = 0;
  }
#pragma unroll 1
  for (int block = 0; block < cluster; ++block) {
#pragma unroll
    for (int i = 0; i < kQueries; ++i) {
      const float weight = __shfl_sync(kAllLanes, weights[i].weight, block);
      ResultColumns<kWidth> of_block;
      of_block.Read(row(i) + block * block_step + lane * kWidth);
#pragma unroll
      for (int c = 0; c < kWidth; ++c) {
        sums[i].values[c] = fmaf(weight, of_block.values[c], sums[i].values[c]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kQueries; ++i) {
    if (i >= count) break;
    if (launch.parts == 1) {
      const float scale = weights[i].denominator == 0.0f ? 0.0f : 1.0f / weights[i].denominator;
      for (float& value : sums[i].values) value *= scale;
      sums[i].WriteRounded(args.out + places.result[i] * kHeadDim + lane * kWidth);
    } else {
      const std::int64_t at = places.result[i] * launch.parts + part;
      if (lane == 0) {
        launch.common.stats[at] = make_float2(weights[i].maximum, weights[i].denominator);
      }
      sums[i].Write(launch.common.partial + at * kHeadDim + lane * kWidth);
    }
  }
}

// By kWarps warps, of which this is the `warp`th, in turns: waits for the round's results of the queries that
// were dealt to this block and puts them together, so many at a time.
template <int kHeadDim, int kWarps, int kAtATime>
__device__ __forceinline__ void TakeResults(const PagedAttentionArgs& args,
                                            const HopperLaunch& launch, const AttentionWork& work,
                                            int rank, unsigned round, int warp,
                                            HopperMemory<kHeadDim>& memory) {
  constexpr int kPitch = HopperMemory<kHeadDim>::kPitch;
  const int rows = DealtTo(launch, rank);
  if (rows == 0) return;  // nobody sends any
  const int first = work.first_query + rank * launch.dealt;
  const int last = min(rows, work.last_query + 1 - first);  // row behind the last query
  int row = warp;
  ResultPlaces<kAtATime, kWarps> places;
  places.Find(args, launch, work, first + row);
  WaitFor(&memory.received_full, round & 1);
  for (; row < last; row += kWarps * kAtATime) {
    AddBlocks<kHeadDim, kAtATime, kWarps>(args, launch, work.part, places,
                                          (last - row + kWarps - 1) / kWarps,
                                          memory.received + row * kPitch, rows * kPitch);
    places.Find(args, launch, work, first + row + kWarps * kAtATime);
  }
}

// The helpers' way, while the next item is multiplied: and tells all blocks that they may send the next
// results. Blocks that own none stay away.
template <int kHeadDim>
__device__ __forceinline__ void TakeRound(const PagedAttentionArgs& args,
                                          const HopperLaunch& launch, const AttentionWork& work,
                                          int rank, unsigned round, int helper,
                                          HopperMemory<kHeadDim>& memory) {
  using Hopper = PagedAttentionTraits::Hopper;
  if (DealtTo(launch, rank) == 0) return;
  TakeResults<kHeadDim, Hopper::kHelpers / kWarp, 3>(args, launch, work, rank, round,
                                                     helper / kWarp, memory);
  SyncThreads(4, Hopper::kHelpers);
  if (helper < static_cast<int>(launch.cluster))
    ArriveInBlock(AddressInBlock(&memory.results_passed, helper));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_GATHER_RESULTS_CUH_
