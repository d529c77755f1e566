// A chain's steps as the device sees them, and what each block does of them.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_STEP_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_STEP_CUH_

#include <cuda.h>

#include <cstdint>

#include "kernels/paged_attention/sm80_paged_attention.cuh"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"

namespace draftmark::kernels {

// Counters that blocks of the grid wait for. Whoever counts up has made all that its thread has seen seen by
// those who wait.
__device__ __forceinline__ void CountUp(unsigned* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;\n" ::"l"(counter) : "memory");
}
__device__ __forceinline__ void WaitForCount(const unsigned* counter, unsigned wanted) {
  unsigned seen = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(seen) : "l"(counter) : "memory");
  } while (seen < wanted);
}

// How a linear step is cut among the blocks.
struct StreamCut {
  int tiles = 0;  // of all parts; 0: a heads or an attention step
  int tiles_of[StreamChainTraits::kMostParts] = {};
  int of_group[StreamChainTraits::kMostParts] = {};  // tiles of each of a part's groups
  int of_unit = 0;                                   // tiles of a unit, neighbours
  int height = 0;                                    // outputs of a tile; of a pair, of each matrix
  int split = 1;       // blocks of a unit: 2 share the inner dimension
  int first_half = 0;  // blocks of 64 columns of a unit's first block
  int all = 0;         // blocks of 64 columns
};
// What the device needs of a StreamLinear beside the tensor maps: shared memory is short.
struct StreamOutputs {
  const BFloat16* bias = nullptr;
  BFloat16* y = nullptr;
  std::int64_t n = 0;
  int groups = 1;
};
struct StreamWork {
  int rows = 0;
  int k = 0;
  StreamOutputs parts[StreamChainTraits::kMostParts] = {};
  const BFloat16* norm_weight = nullptr;
  const float* norm_sums = nullptr;
  int norm_parts = 0;
  float epsilon = 0;
  BFloat16* normed = nullptr;
  float* row_sums = nullptr;
  std::uint64_t* row_best = nullptr;
  BFloat16* residual = nullptr;
  StreamEpilogue epilogue = StreamEpilogue::kStore;
  float multiplier = 1;
  float softcap = 0;
};
struct alignas(16) StreamStep : StreamCut {
  StreamWork linear;
  bool up_first = false;  // of a pair's two matrices in a stage
  int first_heads = 0;    // of a heads step
  int last_heads = 0;
  int attention = -1;  // which one, of an attention step
  int after =
      -1;  // the step that all blocks must have done, and with it those before; negative: none
};
struct alignas(16) ChainAttention {
  PagedAttentionArgs args;
  AttentionLaunch launch;
  int splits = 1;             // of an item's keys
  int tiles = 1;              // of the rows of a band
  int tile_rows = 1;          // their rows: with the heads of a group, at most 64 queries
  int works = 0;              // splits of all items
  int late_keys = 0;          // in front of a band's block, which steps of the chain may write
  bool values_first = false;  // in a unit
};
struct StreamMaps {
  // Boxes of a stage; of a pair, one for both. Of an attention step: a cache block's keys and values.
  CUtensorMap parts[StreamChainTraits::kMostParts];
  CUtensorMap
      rows;  // of x, boxes of all rows and a group of blocks; of queries, half of their columns
};
struct StreamChainArgs {
  StreamStep steps[StreamChainTraits::kMostSteps];
  StreamMaps maps[StreamChainTraits::kMostSteps];
  StreamHeads heads[StreamChainTraits::kMostHeadSteps];
  ChainAttention attentions[StreamChainTraits::kMostAttentions];
  int count = 0;
  int items = 0;  // of attention
  // Of blocks that have done a step, for each of kMostSteps; behind them, of splits of an item.
  unsigned* counters = nullptr;
};

// Where a tile lies.
struct StreamTile {
  int part = 0;
  int group = 0;
  int row = 0;  // first, in the group
};
__device__ __forceinline__ StreamTile TileOf(const StreamStep& step, int tile) {
  StreamTile at;
  while (tile >= step.tiles_of[at.part]) tile -= step.tiles_of[at.part++];
  if (const int of_group = step.of_group[at.part]; tile >= of_group) {
    at.group = tile / of_group;
    tile -= at.group * of_group;
  }
  at.row = tile * step.height;
  return at;
}

__device__ __forceinline__ bool IsPair(const StreamStep& step) {
  return step.linear.epilogue == StreamEpilogue::kSwiGlu;
}
// Rows of a stage's block of 64 columns.
__device__ __forceinline__ int StageRows(const StreamStep& step) {
  return IsPair(step) ? 2 * step.height : step.height;
}

// A block's part of a linear step, the same for all its threads.
template <int kRows>
struct StreamShare {
  using Traits = StreamChainTraits;

  int first_tile;
  int tiles;  // 0: nothing to do
  int begin;  // blocks of 64 columns
  int blocks;
  int groups;  // of rows
  bool stays;  // the rows do, for all tiles

  __device__ explicit StreamShare(const StreamStep& step) {
    static_assert(Traits::kCluster == 2);
    const int unit = static_cast<int>(blockIdx.x) >> (step.split - 1);
    const int rank = static_cast<int>(blockIdx.x) & (step.split - 1);
    first_tile = unit * step.of_unit;
    tiles = max(min(step.of_unit, step.tiles - first_tile), 0);
    begin = rank == 0 ? 0 : step.first_half;
    blocks = (rank + 1 == step.split ? step.all : step.first_half) - begin;
    groups = (blocks + Traits::kGroupBlocks - 1) / Traits::kGroupBlocks;
    stays = groups <= Traits::kGroups<kRows>;
  }
  // Groups come in turns.
  __device__ int GroupAfter(int group) const { return group + 1 < groups ? group + 1 : 0; }
  // How many groups of rows come, all in all.
  __device__ int Arrivals() const { return tiles == 0 ? 0 : stays ? groups : groups * tiles; }
};

// Where a ring stands. Everyone who uses it counts for himself.
template <int kSize>
struct RingPlace {
  int at = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void Advance(int steps = 1) {
    at += steps;
    while (at >= kSize) {
      at -= kSize;
      parity ^= 1u;
    }
  }
};

// Where the ring of weights stands: stages as long as their copies, one behind the other, each whole. Everyone
// who uses it counts for himself.
class StagePlace {
 public:
  using Traits = StreamChainTraits;

  __device__ __forceinline__ int slot() const { return static_cast<int>(count_ % Traits::kStages); }
  __device__ __forceinline__ unsigned parity() const { return count_ / Traits::kStages & 1u; }
  // How many stages came before.
  __device__ __forceinline__ unsigned count() const { return count_; }
  // Where in the ring the next stage begins, if it is so long; ...
  __device__ __forceinline__ unsigned Begin(unsigned bytes) const {
    return at_ + bytes > Traits::kRingBytes ? 0 : at_;
  }
  // ... and how many bytes it leaves behind the one before.
  __device__ __forceinline__ unsigned Gap(unsigned bytes) const {
    return at_ + bytes > Traits::kRingBytes ? Traits::kRingBytes - at_ : 0;
  }
  __device__ __forceinline__ void Advance(unsigned bytes) {
    at_ = Begin(bytes) + bytes;
    ++count_;
  }

 private:
  static_assert((Traits::kStages & (Traits::kStages - 1)) == 0);
  unsigned count_ = 0;
  unsigned at_ = 0;
};

// Which of the stages from here on are this warpgroup's: 0 the even ones, 1 the odd ones. The ring's
// count decides, so a step's first stage is sometimes the one's and sometimes the other's.
__device__ __forceinline__ int OwnOfStages(const StagePlace& stage) {
  return static_cast<int>((threadIdx.x / 128 ^ stage.count()) & 1u);
}

// Shared memory of a block.
template <int kRows>
struct ChainMemory {
  using Traits = StreamChainTraits;
  static constexpr int kGroups = Traits::kGroups<kRows>;

  struct Barriers {
    std::uint64_t full[Traits::kStages];   // a stage's weights are there
    std::uint64_t empty[Traits::kStages];  // ... are used, by the one warpgroup whose stage it is
    std::uint64_t raw[kGroups];            // a group of rows is there, still to be normed
    std::uint64_t ready[kGroups];          // ... can be multiplied
    std::uint64_t used[kGroups];           // ... is used
    // A step's inputs are complete; one for each step, since who has nothing to do in one may be late.
    std::uint64_t go[Traits::kMostSteps];
    std::uint64_t sent[2];  // the other block's sums of a tile have come
    std::uint64_t queries_full;
    std::uint64_t queries_used;
  };
  // Behind the ring, rows and sums.
  struct Rest {
    Barriers barriers;
    alignas(16) float squares[Traits::kPreparers / 32 * Traits::kMostRows];
    // Of the last stages, by the thread that fills the ring: bytes of the ring up to their beginning, in all
    // its turns.
    unsigned begins[Traits::kStages];
    // The steps' own copy here: those of the arguments are read through a cache of constants, which every
    // role of the block would fill with its own part.
    StreamStep steps[Traits::kMostSteps];
    ChainAttention attentions[Traits::kMostAttentions];
  };
  static constexpr int kBytes = Traits::kBufferBytes + static_cast<int>(sizeof(Rest));
  static_assert(kBytes <= 227 * 1024);

  const StreamStep* steps;
  const ChainAttention* attentions;
  unsigned char* ring;
  unsigned char* rows;
  float* sums;
  float* sent;
  float* squares;  // of the rows, by the preparers' warps
  unsigned* begins;
  Barriers& b;

  __device__ unsigned char* Group(int slot) const {
    return rows + slot * Traits::kGroupBytes<kRows>;
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_STEP_CUH_
