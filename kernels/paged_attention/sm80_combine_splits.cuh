// Puts the splits of a row and head together, by a warp.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_COMBINE_SPLITS_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_COMBINE_SPLITS_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_paged_attention.cuh"

namespace draftmark::kernels {

inline constexpr float kLog2E = 1.4426950408889634f;

// What the splits of one result weigh. A lane has one split; the denominator is the same for all.
struct SplitWeights {
  float maximum = -INFINITY;  // of scores and sink, in powers of two
  float weight = 0;
  float denominator = 0;
};

// From this lane's maximum and denominator (-inf and 0 for no split); a sink is one more score, -inf
// for none.
__device__ __forceinline__ SplitWeights WeighSplits(float2 stat, float sink) {
  SplitWeights weights;
  weights.maximum = fmaxf(stat.x, sink);
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) {
    weights.maximum = fmaxf(weights.maximum, __shfl_xor_sync(kAllLanes, weights.maximum, step));
  }
  const float base = weights.maximum == -INFINITY ? 0.0f : weights.maximum;
  // Exactly 0 is a split that saw nothing; NaN must go on.
  weights.weight = stat.y == 0.0f ? 0.0f : exp2f(stat.x - base);
  weights.denominator = LaneSum<kWarp>(weights.weight * stat.y) + exp2f(sink - base);
  return weights;
}

// kWidth: elements that a lane takes at a time. 4 need launch.vector.
template <int kWidth>
__device__ __forceinline__ void CombineColumns(const PagedAttentionArgs& args,
                                               const AttentionLaunch& launch, int splits,
                                               std::int64_t result, const SplitWeights& weights) {
  const int d = static_cast<int>(args.d);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool empty = weights.denominator == 0.0f;
  for (int first = 0; first < d; first += kWarp * kWidth) {
    const int column = first + lane * kWidth;
    const bool valid = column < d;
    const float* const from = launch.partial + result * splits * d + column;
    float sums[kWidth] = {};
    constexpr int kAtATime = 8;  // loads on their way
    for (int base = 0; base < splits; base += kAtATime) {
      float split_weights[kAtATime];
      float values[kAtATime][kWidth];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
        // 0 behind the last split. Without a weight the sums may never have been written.
        split_weights[i] = __shfl_sync(kAllLanes, weights.weight, base + i);
        const float* const of_split = from + std::int64_t{base + i} * d;
        const bool read = valid && split_weights[i] != 0.0f;
        if constexpr (kWidth == 4) {
          const float4 four =
              read ? *reinterpret_cast<const float4*>(of_split) : make_float4(0, 0, 0, 0);
          values[i][0] = four.x;
          values[i][1] = four.y;
          values[i][2] = four.z;
          values[i][3] = four.w;
        } else {
          values[i][0] = read ? *of_split : 0.0f;
        }
      }
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
#pragma unroll
        for (int c = 0; c < kWidth; ++c) sums[c] = fmaf(split_weights[i], values[i][c], sums[c]);
      }
    }
    if (!valid) continue;
#pragma unroll
    for (float& sum : sums) sum = empty ? 0.0f : sum / weights.denominator;
    BFloat16* const to = args.out + result * d + column;
    if constexpr (kWidth == 4) {
      *reinterpret_cast<uint2*>(to) =
          make_uint2(RoundPair(sums[0], sums[1]), RoundPair(sums[2], sums[3]));
    } else {
      *to = Round(sums[0]);
    }
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_COMBINE_SPLITS_CUH_
