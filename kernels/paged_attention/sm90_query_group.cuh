// What a warpgroup holds of its queries on sm_90: scores become probabilities, sums and denominators. How
// queries and keys lie in memory is others' matter.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_QUERY_GROUP_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_QUERY_GROUP_CUH_

#include <cstdint>

#include "kernels/device/reduce.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm90_attention_work.cuh"

namespace draftmark::kernels {

// 2^x, 0 where that is no normal number. NaN goes on.
__device__ __forceinline__ float PowerOfTwo(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

// What the sums over two sets of a query's keys weigh when they become one.
struct KeySetWeights {
  float first;
  float second;
  float2 both;  // maximum and denominator of all keys
};
// From the maximum (x) and denominator (y) of each set.
__device__ __forceinline__ KeySetWeights WeighKeySets(float2 first, float2 second) {
  const float maximum = fmaxf(first.x, second.x);
  const float base = maximum == -INFINITY ? 0.0f : maximum;
  // Exactly 0 has seen nothing; NaN must go on.
  const float of_first = first.y == 0.0f ? 0.0f : PowerOfTwo(first.x - base);
  const float of_second = second.y == 0.0f ? 0.0f : PowerOfTwo(second.x - base);
  return {of_first, of_second, make_float2(maximum, fmaf(of_first, first.y, of_second * second.y))};
}

// A warpgroup's 64 queries and what their tiles of kKeys keys have given so far. A lane has two queries
// of its warp's 16: g and g + 8 (g = lane / 4).
template <int kHeadDim, int kKeys>
struct QueryGroup {
  static constexpr int kGroupThreads = PagedAttentionTraits::Hopper::kGroupThreads;
  static constexpr int kKeyGroups = kKeys / 8;
  using Scores = float[kKeyGroups][4];

  float sums[kHeadDim / 8][4];
  float maximum[2];      // of scaled scores, in powers of two
  float denominator[2];  // of this lane's keys
  int position[2];

  __device__ __forceinline__ void Start(const PagedAttentionArgs& args, const AttentionWork& work) {
    const int group = static_cast<int>(args.heads / args.kv);
    const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
    const int query = work.first_query + thread / kWarp * 16 + thread % kWarp / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      maximum[half] = -INFINITY;
      denominator[half] = 0;
      position[half] = work.first_position + (query + 8 * half) / group;
    }
#pragma unroll
    for (auto& sum : sums) {
#pragma unroll
      for (float& value : sum) value = 0;
    }
  }

  // Scores that a row does not see become -inf. `positions_of` gives those of this lane's two keys in a
  // group of eight; without kPositions nobody asks.
  template <bool kPositions, typename PositionsOf>
  __device__ __forceinline__ void Mask(const PagedAttentionArgs& args, const AttentionWork& work,
                                       const PositionsOf& positions_of, int first_key,
                                       Scores& scores) const {
    const bool masked = args.causal || args.window > 0;
    if (!masked && first_key >= work.begin && first_key + kKeys <= work.end) return;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bool causal = args.causal;
    const auto window = static_cast<int>(args.window);
#pragma unroll
    for (int keys = 0; keys < kKeyGroups; ++keys) {
      int2 pair = {};
      if constexpr (kPositions) pair = positions_of(keys);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int m = first_key + keys * 8 + lane % 4 * 2 + i % 2;
        const int of_key = !kPositions ? m : i % 2 == 0 ? pair.x : pair.y;
        const int distance = position[i / 2] - of_key;
        const bool seen = m >= work.begin && m < work.end && (!causal || distance >= 0) &&
                          (window == 0 || (distance < window && -distance < window));
        if (!seen) scores[keys][i] = -INFINITY;
      }
    }
  }

  // Scores become probabilities relative to the new maximum.
  __device__ __forceinline__ void Softmax(float scale, Scores& scores) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = -INFINITY;
#pragma unroll
      for (int keys = 0; keys < kKeyGroups; ++keys) {
        most = fmaxf(most, fmaxf(scores[keys][2 * half], scores[keys][2 * half + 1]));
      }
      // The four lanes of a query
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
      const float after = fmaxf(maximum[half], most * scale);
      // Nothing seen so far: any finite base does, and keeps infinity minus infinity away.
      const float base = after == -INFINITY ? 0.0f : after;
      const float shrink = PowerOfTwo(maximum[half] - base);
      maximum[half] = after;
      float sum = 0;
#pragma unroll
      for (int keys = 0; keys < kKeyGroups; ++keys) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[keys][i] = PowerOfTwo(fmaf(scores[keys][i], scale, -base));
          sum += scores[keys][i];
        }
      }
      denominator[half] = fmaf(denominator[half], shrink, sum);
#pragma unroll
      for (auto& value : sums) {
        value[2 * half] *= shrink;
        value[2 * half + 1] *= shrink;
      }
    }
  }

  // A query's maximum and denominator, of the keys of its four lanes.
  __device__ __forceinline__ float2 Stats(int half) const {
    float total = denominator[half];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
    return make_float2(maximum[half], total);
  }

  // A pair of probabilities as BF16: `high`, and in `low` what it leaves over.
  __device__ __forceinline__ static void Split(float first, float second, std::uint32_t& high,
                                               std::uint32_t& low) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(high) : "f"(second), "f"(first));
    const float first_left = first - __uint_as_float(high << 16);
    const float second_left = second - __uint_as_float(high & 0xFFFF0000u);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(low) : "f"(second_left), "f"(first_left));
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_QUERY_GROUP_CUH_
