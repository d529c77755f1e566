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
#include "kernels/paged_attention/sm90_query_group.cuh"

namespace draftmark::kernels {

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

template <int kHeadDim>
struct GroupQueries : QueryGroup<kHeadDim, PagedAttentionTraits::Hopper::kKeys> {
  using Hopper = PagedAttentionTraits::Hopper;
  using Memory = HopperMemory<kHeadDim>;
  using typename QueryGroup<kHeadDim, Hopper::kKeys>::Scores;

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

  template <bool kPositions>
  __device__ __forceinline__ void Attend(const PagedAttentionArgs& args, float scale,
                                         const AttentionWork& work, const AttentionTile& tile,
                                         Memory& memory) {
    constexpr int kUnits = Hopper::kUnits;
    const bool leader = threadIdx.x % kWarp == 0;
    Scores scores;
    WaitFor(&memory.keys_full[tile.stage], tile.parity);
    MultiplyQueries(memory, tile.stage, scores);
    const std::int32_t* const positions =
        memory.positions[tile.stage] + static_cast<int>(threadIdx.x) % 4 * 2;
    this->template Mask<kPositions>(
        args, work, [&](int keys) { return *reinterpret_cast<const int2*>(positions + keys * 8); },
        tile.first_key, scores);
    __syncwarp();  // positions are read
    if (leader) Arrive(&memory.keys_empty[tile.stage]);

    this->Softmax(scale, scores);
    // The fragment of the scores is the one that the product takes.
    std::uint32_t high[kUnits][4], low[kUnits][4];
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pair = &scores[2 * unit + i / 2][i % 2 * 2];
        this->Split(pair[0], pair[1], high[unit][i], low[unit][i]);
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
      MultiplyValues(this->sums, high[unit], described + unit * (Memory::kUnitBytes / 16));
      MultiplyValues(this->sums, low[unit], described + unit * (Memory::kUnitBytes / 16));
    }
    WarpgroupCommit();
    WarpgroupWait<0>();
    Settle(this->sums);
    if (leader) Arrive(&memory.values_empty[tile.stage]);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_TILE_CUH_
