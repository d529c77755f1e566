// What a block of the sm_90 path works on, and its shared memory.
//
// Items: 64 queries of a KV head of a band, or one of several parts of their keys, which the combine
// kernel then puts together. A cluster takes one item after another, and its blocks share the item's keys
// evenly, in whole cache blocks. The size of a cluster depends on how many items there are: few items want
// many blocks each, and many items the size of which most blocks find room.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_WORK_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_WORK_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_paged_attention.cuh"

namespace draftmark::kernels {

// Of a block in its cluster.
__device__ __forceinline__ unsigned RankInCluster() {
  unsigned rank = 0;
#if DM_HOPPER
  asm("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
#endif
  return rank;
}

struct HopperLaunch {
  AttentionLaunch common;
  unsigned items = 0;        // bands * KV heads * query tiles * parts
  unsigned query_tiles = 1;  // of a KV head
  unsigned parts = 1;
  unsigned cluster = 1;       // blocks
  bool one_round = false;     // no cluster takes more than one item
  bool values_first = false;  // their pool lies in front of that of the keys
  // Results of a query tile (those of the fullest) are dealt out to `owners` of the blocks.
  int results = 0;
  int dealt = 0;  // to each; fewer to the last
  unsigned owners = 0;
};

// How many of the results the block `rank` of a cluster has.
__device__ __forceinline__ int DealtTo(const HopperLaunch& launch, int rank) {
  return max(0, min(launch.dealt, launch.results - rank * launch.dealt));
}

struct AttentionWork {
  int band = 0;
  int kv_head = 0;
  int part = 0;
  int first_query = 0;
  int last_query = 0;
  // This block's share: cache blocks, and what any of the queries sees of their keys
  int first_unit = 0;
  int units = 0;
  int begin = 0;
  int end = 0;
  int first_position = 0;  // of row 0
  int first_new = 0;       // keys from here on may still be written when this kernel begins
};

// Gives `work` one of `shares` even parts of the keys, in whole cache blocks.
__device__ __forceinline__ void ShareKeys(const KeyRange& range, int share, unsigned shares,
                                          AttentionWork& work) {
  constexpr int kUnit = PagedAttentionTraits::kBlockRows;
  const int first = range.begin / kUnit;
  const int count = range.end > range.begin ? (range.end + kUnit - 1) / kUnit - first : 0;
  const int least = static_cast<int>(static_cast<unsigned>(count) / shares);
  const int more = count - least * static_cast<int>(shares);  // shares with one unit more
  work.first_unit = first + share * least + min(share, more);
  work.units = least + (share < more ? 1 : 0);
  work.begin = range.begin;
  work.end = min(range.end, (work.first_unit + work.units) * kUnit);
}

// The items of a block in their order. Those who copy walk along, each for himself; the record of the
// next item is on its way while one is worked on.
template <bool kPositions>
class WorkList {
 public:
  // Reads no memory that other kernels write: divisions take longer than they should, and are done
  // before the kernel in front has ended.
  __device__ __forceinline__ WorkList(const PagedAttentionArgs& args, const HopperLaunch& launch)
      : args_(args),
        launch_(launch),
        group_(static_cast<unsigned>(args.heads) / static_cast<unsigned>(args.kv)),
        item_(blockIdx.x / launch.cluster),
        rank_(static_cast<int>(RankInCluster())) {
    Place();
  }
  // Once, before Next.
  __device__ __forceinline__ void Fetch() {
    if (item_ >= launch_.items) return;
    const std::uint32_t* const record = args_.arguments + ahead_.band * args_.record_words;
    kv_len_ = record[0];
    q_offset_ = record[1];
    if constexpr (kPositions) q_rope_pos_ = record[2];
  }
  // False behind the last one.
  __device__ __forceinline__ bool Next(AttentionWork& work) {
    if (item_ >= launch_.items) return false;
    work = ahead_;
    const int first_row = first_row_, last_row = last_row_;
    const std::uint32_t kv_len = kv_len_, q_offset = q_offset_, q_rope_pos = q_rope_pos_;
    item_ += gridDim.x / launch_.cluster;
    if (item_ < launch_.items) {
      Place();
      Fetch();
    }
    constexpr int kUnit = PagedAttentionTraits::kBlockRows;
    const auto keys = static_cast<int>(min(std::int64_t{kv_len}, args_.table * kUnit));
    const unsigned cluster = launch_.cluster;
    ShareKeys(SeenKeys(args_, keys, static_cast<int>(q_offset), first_row, last_row),
              work.part * static_cast<int>(cluster) + rank_, launch_.parts * cluster, work);
    work.first_position = static_cast<int>(kPositions ? q_rope_pos : q_offset);
    work.first_new = args_.old_keys_complete ? static_cast<int>(q_offset) : 0;
    return true;
  }
  __device__ __forceinline__ int rank() const { return rank_; }

 private:
  // Query tiles of a head are neighbours, so that clusters read the same keys at the same time.
  __device__ __forceinline__ void Place() {
    const unsigned queries = static_cast<unsigned>(args_.rows) * group_;
    const unsigned tile = item_ / launch_.parts;
    const unsigned head = tile / launch_.query_tiles;
    const unsigned kv = static_cast<unsigned>(args_.kv);
    const unsigned first = tile % launch_.query_tiles * PagedAttentionTraits::kQueries;
    const unsigned last = min(first + PagedAttentionTraits::kQueries, queries) - 1;
    ahead_.part = static_cast<int>(item_ % launch_.parts);
    ahead_.kv_head = static_cast<int>(head % kv);
    ahead_.band = static_cast<int>(head / kv);
    ahead_.first_query = static_cast<int>(first);
    ahead_.last_query = static_cast<int>(last);
    first_row_ = static_cast<int>(first / group_);
    last_row_ = static_cast<int>(last / group_);
  }
  const PagedAttentionArgs& args_;
  const HopperLaunch& launch_;
  unsigned group_;  // heads of a KV head
  unsigned item_;
  int rank_;
  AttentionWork ahead_;
  int first_row_ = 0;
  int last_row_ = 0;
  std::uint32_t kv_len_ = 0;
  std::uint32_t q_offset_ = 0;
  std::uint32_t q_rope_pos_ = 0;
};

// Where a warpgroup's tile lies, counted over all items: the stage, and the parity of its barriers' phase.
template <int kStagesOfGroup>
struct TilePlace {
  unsigned stage;
  unsigned parity;
  __device__ __forceinline__ TilePlace(int group, unsigned tile)
      : stage(static_cast<unsigned>(group) * kStagesOfGroup + tile % kStagesOfGroup),
        parity(tile / kStagesOfGroup & 1) {}
};

// Each warpgroup's tiles of keys and values go through a ring of stages of its own, each with a barrier that
// says that it is full and one that says that it is empty. In a common ring one could wait for a tile whose
// stage another's tile has still to pass through, and take that one's absence for its own arrival.
//
// A tile lies as [8][d / 64][keys, values][8][64] (values first if their pool lies in front) in the 128-byte
// swizzle: what one copy brings of a cache block is in one piece, and groups of eight keys are at the same
// distance from each other in all of the tile.
template <int kHeadDim>
struct alignas(1024) HopperMemory {
  using Hopper = PagedAttentionTraits::Hopper;
  static constexpr int kStages = Hopper::kStages<kHeadDim>;
  static constexpr int kPitch = Hopper::kPitch<kHeadDim>;
  static constexpr int kPieceBytes = 8 * 128;  // 64 columns of eight keys, or of their values
  static constexpr int kHalfBytes = 2 * kPieceBytes;              // from 64 columns to the next
  static constexpr int kEightBytes = kHeadDim / 64 * kHalfBytes;  // from eight keys to the next
  static constexpr int kUnitBytes = PagedAttentionTraits::kBlockRows / 8 * kEightBytes;
  static constexpr int kTileBytes = Hopper::kUnits * kUnitBytes;
  static constexpr int kStagesOfGroup = kStages / Hopper::kGroups;
  static_assert(kStages % Hopper::kGroups == 0);
  static constexpr int kQueryHalfBytes = PagedAttentionTraits::kQueries * 128;
  static constexpr int kDealtRows = std::max(
      {Hopper::DealtRows(Hopper::kMostCluster), Hopper::DealtRows(4), Hopper::DealtRows(2)});

  unsigned char tiles[kStages][kTileBytes];
  unsigned char queries[PagedAttentionTraits::kQueries * kHeadDim * 2];
  // Results: this block's of all queries; and of the queries dealt to it, those of each block.
  alignas(16) float own[PagedAttentionTraits::kQueries * kPitch];
  alignas(16) float received[kDealtRows * kPitch];
  // Maximum and denominator of each warpgroup
  float2 stats[Hopper::kGroups][PagedAttentionTraits::kQueries];
  std::int32_t positions[kStages][Hopper::kKeys];

  AttentionWork work;  // of the queries

  std::uint64_t full[kStages];
  std::uint64_t empty[kStages];
  std::uint64_t queries_full;  // with their work
  std::uint64_t queries_empty;
  std::uint64_t received_full;   // results of all blocks are here
  std::uint64_t results_passed;  // all owners are done with this block's results

  // By one thread.
  __device__ __forceinline__ void InitBarriers(unsigned owners) {
    constexpr int kGroupWarps = Hopper::kGroupThreads / 32;
    for (int stage = 0; stage < kStages; ++stage) {
      InitBarrier(&full[stage], Hopper::kCopiers);
      InitBarrier(&empty[stage], kGroupWarps);  // a tile belongs to one warpgroup
    }
    InitBarrier(&queries_full, Hopper::kHelpers);
    InitBarrier(&queries_empty, Hopper::kGroups * kGroupWarps);
    InitBarrier(&received_full, 1 + Hopper::kGroups * kGroupWarps);
    InitBarrier(&results_passed, owners);
    FenceBarriers();
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_WORK_CUH_
