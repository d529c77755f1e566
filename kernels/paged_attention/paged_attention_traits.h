// Static facts of the paged_attention kernels: those of every GPU, and under Hopper those of sm_90.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_PAGED_ATTENTION_TRAITS_H_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_PAGED_ATTENTION_TRAITS_H_

#include <algorithm>
#include <cstdint>

namespace draftmark::kernels {

struct PagedAttentionTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;
  static constexpr int kQueries = 64;    // of a block: (row, head of the group) pairs, 16 a warp
  static constexpr int kBlockRows = 16;  // keys of one cache block
  static constexpr std::int64_t kMostHeadDim = 256;
  // The context is split so that there are about two blocks for each SM of an H200. A constant, not
  // the device's number: the same draft has the same bits on every GPU (but for Hopper's path below,
  // which has its own). And not of the bands: a band has the same bits alone and among others.
  static constexpr std::int64_t kBlocksAimedAt = 264;
  static constexpr std::int64_t kMostSplits = 32;  // a lane each when they are put together

  // Head dims are padded with zeros to the next of 32, 64, 128 and 256.
  template <int kHeadDim>
  struct Tile {
    static constexpr int kKeys = kHeadDim > 128 ? 16 : 32;
    // Eight rows at the same column then lie in different banks.
    static constexpr int kStride = kHeadDim + 8;
    static constexpr int kStages = 2;
    static constexpr int kElements = (kQueries + 2 * kStages * kKeys) * kStride;
    static constexpr int kSharedBytes = kElements * 2;
    // Queries stay in registers where the sums leave room.
    static constexpr bool kHoldQueries = kHeadDim <= 128;
  };

  static constexpr std::int64_t QueryTiles(std::int64_t rows, std::int64_t group) {
    return (rows * group + kQueries - 1) / kQueries;
  }
  static constexpr std::int64_t Splits(std::int64_t rows, std::int64_t heads, std::int64_t kv) {
    const std::int64_t blocks = kv * QueryTiles(rows, heads / kv);
    return std::clamp<std::int64_t>((kBlocksAimedAt + blocks - 1) / blocks, 1, kMostSplits);
  }
  // Per split of each row and head: maximum and denominator, and an FP32 sum of width d.
  static constexpr std::uint64_t StatsBytes(std::int64_t results, std::int64_t splits) {
    return (static_cast<std::uint64_t>(results * splits) * 2 * sizeof(float) + 255) / 256 * 256;
  }
  static constexpr std::uint64_t WorkspaceBytes(std::int64_t bands, std::int64_t rows,
                                                std::int64_t heads, std::int64_t kv,
                                                std::int64_t d) {
    const std::int64_t splits = Splits(rows, heads, kv);
    const std::int64_t results = bands * rows * heads;
    return StatsBytes(results, splits) +
           static_cast<std::uint64_t>(results * splits * d) * sizeof(float);
  }
  // The most that any launch of 1 to most_rows rows needs: fewer rows may have more splits.
  static constexpr std::uint64_t MostWorkspaceBytes(std::int64_t bands, std::int64_t most_rows,
                                                    std::int64_t heads, std::int64_t kv,
                                                    std::int64_t d) {
    std::uint64_t most = 0;
    for (std::int64_t rows = 1; rows <= most_rows; ++rows) {
      most = std::max(most, WorkspaceBytes(bands, rows, heads, kv, d));
    }
    return most;
  }

  // The path of Hopper's whole GPUs (sm_90, 132 SMs and more; d 64 or 128; 16-byte alignment): a
  // cluster of blocks shares the keys of a query tile of a KV head, a block for each SM, and puts its
  // results together itself. Clusters that find no room wait until one is free.
  //
  // A cluster lies within one GPC, and GPCs differ. On an H200 whose blocks take a whole SM, fit (by
  // cudaOccupancyMaxActiveClusters): 66 of 2, 30 of 4, 17 of 6, 15 of 7 or 8, 9 of 9, 7 of 10 to 16.
  struct Hopper {
    static constexpr int kMinimumArch = 90;
    static constexpr int kMinimumSms = 132;
    static constexpr int kGroups = 2;  // warpgroups that multiply; they take turns with tiles
    static constexpr int kGroupThreads = 128;
    static constexpr int kCopiers = 2;  // warps that copy keys and values
    static constexpr int kHelpers =
        64;  // threads that load queries, and gather all but the last results
    static constexpr int kThreads = kGroups * kGroupThreads + kCopiers * 32 + kHelpers;
    // Cache blocks of a tile. At 2064 keys the warpgroups of a cluster have two tiles each.
    static constexpr int kUnits = 4;
    static constexpr int kKeys = kUnits * kBlockRows;
    static constexpr int kMostCluster = 9;
    static constexpr int kClusters = 8;  // of that size, at a time
    template <int kHeadDim>
    static constexpr int kStages = kHeadDim == 128 ? 4 : 8;
    // Floats of a result in shared memory: its sums, maximum, denominator, and what puts eight rows
    // at the same column into different banks.
    template <int kHeadDim>
    static constexpr int kPitch = kHeadDim + 8;

    // `tiles`: KV heads * query tiles of a band. A cluster takes one part of a tile's keys.
    static constexpr std::int64_t Parts(std::int64_t tiles) {
      return std::max<std::int64_t>(kClusters / tiles, 1);
    }
    // Clusters of `cluster` blocks that a launch has at most.
    static constexpr std::int64_t ClustersAtATime(std::int64_t cluster) {
      return cluster == kMostCluster ? kClusters : cluster == 4 ? 30 : 66;
    }
    // Blocks of a cluster for so many items: those that are done first, when an item costs one unit of
    // time for all of its keys, shared by the blocks, and a twenty-fifth for what each cluster does once.
    static constexpr std::int64_t Cluster(std::int64_t items) {
      const auto cost = [items](std::int64_t cluster) {
        const std::int64_t at_a_time = ClustersAtATime(cluster);
        return (items + at_a_time - 1) / at_a_time * (25 + cluster) * 36 / cluster;
      };
      std::int64_t best = kMostCluster;
      for (const std::int64_t cluster : {4, 2}) {
        if (cost(cluster) < cost(best)) best = cluster;
      }
      return best;
    }
    // Results of a query tile are dealt out to a cluster's blocks: 9 times 8 rows, 4 times 16, 2 times 32.
    static constexpr int DealtRows(int cluster) {
      return (kQueries + cluster - 1) / cluster * cluster;
    }
  };
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_PAGED_ATTENTION_TRAITS_H_
