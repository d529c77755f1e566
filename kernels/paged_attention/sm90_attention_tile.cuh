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

// The part of a tile's values that the share does not hold (rows before `begin` or from `end` on) becomes
// zero: a probability of 0 must not meet what may be NaN. By all threads of a warpgroup.
template <int kHeadDim>
__device__ __forceinline__ void ZeroRows(unsigned char* values, int begin, int end) {
  using Hopper = PagedAttentionTraits::Hopper;
  using Memory = HopperMemory<kHeadDim>;
  constexpr int kPieces = kHeadDim / 8;  // of 16 bytes, of a row
  const int thread = static_cast<int>(threadIdx.x) % Hopper::kGroupThreads;
  for (int i = thread; i < Hopper::kKeys * kPieces; i += Hopper::kGroupThreads) {
    const int row = i / kPieces;
    const int piece = i % kPieces;
    if (row >= begin && row < end) continue;
    // The swizzle stays within a row.
    *reinterpret_cast<uint4*>(values + row / 8 * Memory::kEightBytes +
                              piece / 8 * Memory::kHalfBytes + row % 8 * 128 + piece % 8 * 16) =
        make_uint4(0, 0, 0, 0);
  }
  FenceShared();
  SyncThreads(2 + static_cast<int>(threadIdx.x) / Hopper::kGroupThreads, Hopper::kGroupThreads);
}

template <int kHeadDim>
struct GroupQueries : QueryGroup<kHeadDim, PagedAttentionTraits::Hopper::kKeys> {
  using Hopper = PagedAttentionTraits::Hopper;
  using Memory = HopperMemory<kHeadDim>;
  using typename QueryGroup<kHeadDim, Hopper::kKeys>::Scores;
  using Place = TilePlace<Memory::kStagesOfGroup>;

  __device__ __forceinline__ static void MultiplyQueries(const Memory& memory,
                                                         const unsigned char* tile_keys,
                                                         Scores& scores) {
    const std::uint64_t queries = Describe(SharedAddress(memory.queries), 1024);
    const std::uint64_t keys = Describe(SharedAddress(tile_keys), Memory::kEightBytes);
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
  __device__ __forceinline__ void Attend(const PagedAttentionArgs& args, const HopperLaunch& launch,
                                         const AttentionWork& work, int first_key,
                                         const Place& tile, Memory& memory) {
    constexpr int kUnits = Hopper::kUnits;
    const bool leader = threadIdx.x % kWarp == 0;
    Scores scores;
    unsigned char* const keys =
        memory.tiles[tile.stage] + (launch.values_first ? Memory::kPieceBytes : 0);
    WaitFor(&memory.full[tile.stage], tile.parity);
    MultiplyQueries(memory, keys, scores);
    const std::int32_t* const positions =
        memory.positions[tile.stage] + static_cast<int>(threadIdx.x) % 4 * 2;
    this->template Mask<kPositions>(
        args, work, [&](int keys) { return *reinterpret_cast<const int2*>(positions + keys * 8); },
        first_key, scores);
    this->Softmax(launch.common.scale, scores);
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

    unsigned char* const values =
        memory.tiles[tile.stage] + (launch.values_first ? 0 : Memory::kPieceBytes);
    const int begin = work.begin - first_key;
    const int end = work.end - first_key;
    if (begin > 0 || end < Hopper::kKeys) ZeroRows<kHeadDim>(values, begin, end);
    const std::uint64_t described =
        Describe(SharedAddress(values), Memory::kEightBytes, Memory::kHalfBytes);
    WarpgroupArrive();
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      MultiplyValues(this->sums, high[unit], described + unit * (Memory::kUnitBytes / 16));
      MultiplyValues(this->sums, low[unit], described + unit * (Memory::kUnitBytes / 16));
    }
    WarpgroupCommit();
    WarpgroupWait<0>();
    Settle(this->sums);
    __syncwarp();  // positions are read
    if (leader) Arrive(&memory.empty[tile.stage]);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_TILE_CUH_
