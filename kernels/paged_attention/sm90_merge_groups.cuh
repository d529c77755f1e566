// The results of a block's two warpgroups as one, in shared memory (sm_90).
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_MERGE_GROUPS_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_MERGE_GROUPS_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm90_query_group.cuh"

namespace draftmark::kernels {

// Where a lane's sums of eight columns of a row lie.
template <int kHeadDim>
__device__ __forceinline__ float2* PlaceOfSums(float* own, int columns, int half) {
  using Hopper = PagedAttentionTraits::Hopper;
  const int thread = static_cast<int>(threadIdx.x) % Hopper::kGroupThreads;
  const int row = thread / kWarp * 16 + thread % kWarp / 4 + 8 * half;
  return reinterpret_cast<float2*>(own + row * Hopper::kPitch<kHeadDim> + columns * 8 +
                                   thread % 4 * 2);
}

// To add the sums of both warpgroups up, each hands one half of the columns over, and behind a barrier
// finishes the other one, kFinished. `weight`: of the own sums.
template <int kHeadDim, int kFinished>
__device__ __forceinline__ void HandOver(const float (&sums)[kHeadDim / 8][4],
                                         const float (&weight)[2], float* own) {
  constexpr int kHalf = kHeadDim / 16;  // of the columns, in eights
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const int j = (1 - kFinished) * kHalf + i;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *PlaceOfSums<kHeadDim>(own, j, half) =
          make_float2(sums[j][2 * half] * weight[half], sums[j][2 * half + 1] * weight[half]);
    }
  }
}
template <int kHeadDim, int kFinished>
__device__ __forceinline__ void TakeOver(const float (&sums)[kHeadDim / 8][4],
                                         const float (&weight)[2], float* own) {
  constexpr int kHalf = kHeadDim / 16;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const int j = kFinished * kHalf + i;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2* const place = PlaceOfSums<kHeadDim>(own, j, half);
      const float2 other = *place;
      *place = make_float2(fmaf(sums[j][2 * half], weight[half], other.x),
                           fmaf(sums[j][2 * half + 1], weight[half], other.y));
    }
  }
}

// By both warpgroups (256 threads, barrier 1), after their tiles. `own` [64][kPitch] gets the first
// `results` queries' sums (rounded up to a warp's 16) with their maximum and denominator behind them;
// `stats` [2][64] is for this alone. `before_writing` is called before `own` is written. The caller
// fences and waits before anybody reads it.
template <int kHeadDim, int kKeys, typename BeforeWriting>
__device__ __forceinline__ void MergeGroups(const QueryGroup<kHeadDim, kKeys>& queries, int results,
                                            float2 (*stats)[PagedAttentionTraits::kQueries],
                                            float* own, const BeforeWriting& before_writing) {
  using Hopper = PagedAttentionTraits::Hopper;
  constexpr int kPitch = Hopper::kPitch<kHeadDim>;
  constexpr int kAll = Hopper::kGroups * Hopper::kGroupThreads;
  const int group = static_cast<int>(threadIdx.x) / Hopper::kGroupThreads;
  const int thread = static_cast<int>(threadIdx.x) % Hopper::kGroupThreads;
  const int first_row = thread / kWarp * 16 + thread % kWarp / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float2 own_stats = queries.Stats(half);
    if (thread % 4 == 0) stats[group][first_row + 8 * half] = own_stats;
  }
  SyncThreads(1, kAll);
  before_writing();
  float weight[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + 8 * half;
    const KeySetWeights weights = WeighKeySets(stats[0][row], stats[1][row]);
    weight[half] = group == 0 ? weights.first : weights.second;
    if (group == 0 && thread % 4 == 0) {
      *reinterpret_cast<float2*>(own + row * kPitch + kHeadDim) = weights.both;
    }
  }
  // Warps that have no rows but empty ones leave theirs.
  const bool used = thread / kWarp * 16 < results;
  if (used && group == 0) HandOver<kHeadDim, 0>(queries.sums, weight, own);
  if (used && group == 1) HandOver<kHeadDim, 1>(queries.sums, weight, own);
  SyncThreads(1, kAll);
  if (used && group == 0) TakeOver<kHeadDim, 0>(queries.sums, weight, own);
  if (used && group == 1) TakeOver<kHeadDim, 1>(queries.sums, weight, own);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_MERGE_GROUPS_CUH_
