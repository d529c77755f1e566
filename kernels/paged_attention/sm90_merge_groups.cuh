// The results of a block's two warpgroups as one, in shared memory (sm_90).
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_MERGE_GROUPS_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_MERGE_GROUPS_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm90_query_group.cuh"

namespace draftmark::kernels {

// Adds the sums of both warpgroups up. Each finishes one half of the columns, kFinished, and hands the
// other one over first. `weight`: of the own sums. Warps that have no rows but empty ones are not `used`.
template <int kHeadDim, int kFinished>
__device__ __forceinline__ void AddGroups(const float (&sums)[kHeadDim / 8][4],
                                          const float (&weight)[2], bool used, float* own) {
  using Hopper = PagedAttentionTraits::Hopper;
  constexpr int kGroupThreads = Hopper::kGroupThreads;
  constexpr int kHalf = kHeadDim / 16;  // of the columns, in eights
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
  const int row = thread / kWarp * 16 + thread % kWarp / 4;
  const auto at = [&](int j, int half) {
    return reinterpret_cast<float2*>(own + (row + 8 * half) * Hopper::kPitch<kHeadDim> + j * 8 +
                                     thread % 4 * 2);
  };
  if (used) {
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const int j = (1 - kFinished) * kHalf + i;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *at(j, half) =
            make_float2(sums[j][2 * half] * weight[half], sums[j][2 * half + 1] * weight[half]);
      }
    }
  }
  SyncThreads(1, Hopper::kGroups * kGroupThreads);
  if (!used) return;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const int j = kFinished * kHalf + i;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 other = *at(j, half);
      *at(j, half) = make_float2(fmaf(sums[j][2 * half], weight[half], other.x),
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
  float total[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] = queries.denominator[half];
    total[half] += __shfl_xor_sync(kAllLanes, total[half], 1);
    total[half] += __shfl_xor_sync(kAllLanes, total[half], 2);
    if (thread % 4 == 0) {
      stats[group][first_row + 8 * half] = make_float2(queries.maximum[half], total[half]);
    }
  }
  SyncThreads(1, kAll);
  before_writing();
  float weight[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + 8 * half;
    const float2 a = stats[0][row];
    const float2 b = stats[1][row];
    const float maximum = fmaxf(a.x, b.x);
    const float base = maximum == -INFINITY ? 0.0f : maximum;
    // Exactly 0 has seen nothing; NaN must go on.
    const float weight_a = a.y == 0.0f ? 0.0f : PowerOfTwo(a.x - base);
    const float weight_b = b.y == 0.0f ? 0.0f : PowerOfTwo(b.x - base);
    weight[half] = group == 0 ? weight_a : weight_b;
    if (group == 0 && thread % 4 == 0) {
      *reinterpret_cast<float2*>(own + row * kPitch + kHeadDim) =
          make_float2(maximum, fmaf(weight_a, a.y, weight_b * b.y));
    }
  }
  const bool used = thread / kWarp * 16 < results;
  if (group == 0) {
    AddGroups<kHeadDim, 0>(queries.sums, weight, used, own);
  } else {
    AddGroups<kHeadDim, 1>(queries.sums, weight, used, own);
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_MERGE_GROUPS_CUH_
