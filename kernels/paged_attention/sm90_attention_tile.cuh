// One warpgroup's work on a tile of keys (sm_90): scores, softmax, and values by probabilities.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_TILE_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_TILE_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/device/warpgroup.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm90_attention_products.cuh"
#include "kernels/paged_attention/sm90_attention_work.cuh"

namespace draftmark::kernels {

// 2^x, 0 where that is no normal number. NaN goes on.
__device__ __forceinline__ float PowerOfTwo(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

// The values' part of a tile that the share does not hold (rows before `begin` or from `end` on) becomes
// zero: a probability of 0 must not meet what may be NaN. By all threads of a warpgroup.
template <int kHeadDim>
__device__ __forceinline__ void ZeroRows(unsigned char* values, int begin, int end) {
  using Hopper = PagedAttentionTraits::Hopper;
  constexpr int kPieces = kHeadDim / 8;  // of 16 bytes, of a row
  constexpr int kUnit = PagedAttentionTraits::kBlockRows;
  const int thread = static_cast<int>(threadIdx.x) % Hopper::kGroupThreads;
  for (int i = thread; i < Hopper::kKeys * kPieces; i += Hopper::kGroupThreads) {
    const int row = i / kPieces;
    const int piece = i % kPieces;
    if (row >= begin && row < end) continue;
    // The swizzle stays within a row.
    *reinterpret_cast<uint4*>(values + row / kUnit * HopperMemory<kHeadDim>::kUnitBytes +
                              piece / 8 * (kUnit * 128) + row % kUnit * 128 + piece % 8 * 16) =
        make_uint4(0, 0, 0, 0);
  }
  FenceShared();
  SyncThreads(2 + static_cast<int>(threadIdx.x) / Hopper::kGroupThreads, Hopper::kGroupThreads);
}

// A tile of the work's keys.
struct AttentionTile {
  int first_key = 0;
  unsigned stage = 0;
  unsigned parity = 0;
};

// A lane has two queries of its warp's 16: g and g + 8 (g = lane / 4).
template <int kHeadDim>
struct GroupQueries {
  using Hopper = PagedAttentionTraits::Hopper;
  using Memory = HopperMemory<kHeadDim>;
  static constexpr int kKeyGroups = Hopper::kKeys / 8;
  using Scores = float[kKeyGroups][4];

  float sums[kHeadDim / 8][4];
  float maximum[2];      // of scaled scores, in powers of two
  float denominator[2];  // of this lane's keys
  int position[2];

  __device__ __forceinline__ void Start(const PagedAttentionArgs& args, const AttentionWork& work) {
    const int group = static_cast<int>(args.heads / args.kv);
    const int thread = static_cast<int>(threadIdx.x) % Hopper::kGroupThreads;
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

  __device__ __forceinline__ static void MultiplyQueries(const Memory& memory, unsigned stage,
                                                         Scores& scores) {
    constexpr unsigned kPattern = 1024;
    const std::uint64_t queries = Describe(SharedAddress(memory.queries), kPattern);
    const std::uint64_t keys = Describe(SharedAddress(memory.keys[stage]), kPattern);
    WarpgroupArrive();
#pragma unroll
    for (int depth = 0; depth < kHeadDim / 16; ++depth) {
      // Descriptors count in units of 16 bytes; 16 columns are 32 bytes.
      MultiplyKeys(scores, queries + depth / 4 * (Memory::kQueryHalfBytes / 16) + depth % 4 * 2,
                   keys + depth / 4 * (Memory::kHalfBytes / 16) + depth % 4 * 2, depth > 0);
    }
    WarpgroupCommit();
    WarpgroupWait<0>();
    Settle(scores);
  }

  // Scores that a row does not see become -inf.
  template <bool kPositions>
  __device__ __forceinline__ void Mask(const PagedAttentionArgs& args, const AttentionWork& work,
                                       const std::int32_t* positions, int first_key,
                                       Scores& scores) const {
    const bool masked = args.causal || args.window > 0;
    if (!masked && first_key >= work.begin && first_key + Hopper::kKeys <= work.end) return;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bool causal = args.causal;
    const auto window = static_cast<int>(args.window);
#pragma unroll
    for (int keys = 0; keys < kKeyGroups; ++keys) {
      int2 pair = {};  // positions of this lane's two keys
      if constexpr (kPositions) {
        pair = *reinterpret_cast<const int2*>(positions + keys * 8 + lane % 4 * 2);
      }
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

  // A pair of probabilities as BF16: `high`, and in `low` what it leaves over.
  __device__ __forceinline__ static void Split(float first, float second, std::uint32_t& high,
                                               std::uint32_t& low) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(high) : "f"(second), "f"(first));
    const float first_left = first - __uint_as_float(high << 16);
    const float second_left = second - __uint_as_float(high & 0xFFFF0000u);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(low) : "f"(second_left), "f"(first_left));
  }

  template <bool kPositions>
  __device__ __forceinline__ void Attend(const PagedAttentionArgs& args, float scale,
                                         const AttentionWork& work, const AttentionTile& tile,
                                         Memory& memory) {
    constexpr int kUnits = Hopper::kUnits;
    const bool leader = threadIdx.x % kWarp == 0;
    Scores scores;
    WaitFor(&memory.keys_full[tile.stage], tile.parity);
    MultiplyQueries(memory, tile.stage, scores);
    Mask<kPositions>(args, work, memory.positions[tile.stage], tile.first_key, scores);
    __syncwarp();  // positions are read
    if (leader) Arrive(&memory.keys_empty[tile.stage]);

    Softmax(scale, scores);
    // The fragment of the scores is the one that the product takes.
    std::uint32_t high[kUnits][4], low[kUnits][4];
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pair = &scores[2 * unit + i / 2][i % 2 * 2];
        Split(pair[0], pair[1], high[unit][i], low[unit][i]);
      }
    }

    WaitFor(&memory.values_full[tile.stage], tile.parity);
    unsigned char* const values = memory.values[tile.stage];
    const int begin = work.begin - tile.first_key;
    const int end = work.end - tile.first_key;
    if (begin > 0 || end < Hopper::kKeys) ZeroRows<kHeadDim>(values, begin, end);
    constexpr unsigned kPattern = 1024;
    const std::uint64_t described =
        Describe(SharedAddress(values), kPattern, PagedAttentionTraits::kBlockRows * 128);
    WarpgroupArrive();
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      MultiplyValues(sums, high[unit], described + unit * (Memory::kUnitBytes / 16));
      MultiplyValues(sums, low[unit], described + unit * (Memory::kUnitBytes / 16));
    }
    WarpgroupCommit();
    WarpgroupWait<0>();
    Settle(sums);
    if (leader) Arrive(&memory.values_empty[tile.stage]);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_TILE_CUH_
