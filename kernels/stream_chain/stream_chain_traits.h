// Static facts of the stream_chain kernel.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_TRAITS_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct StreamChainTraits {
  static constexpr int kMinimumArch = 90;  // its own instructions: sm_90a alone
  static constexpr std::int64_t kMostRows = 16;
  static constexpr std::int64_t kMostBlocks = 160;  // whatever the device has
  static constexpr int kMostParts = 3;
  static constexpr int kMostSteps = 17;
  static constexpr int kMostHeadSteps = 24;
  static constexpr int kMostAttentions = 3;
  static constexpr int kMostHeadsAlone =
      20;                                 // of a kernel without a chain: its arguments take 4 KB
  static constexpr int kMostItems = 256;  // bands * KV heads * tiles of rows, of an attention step
  static constexpr int kMostHeadDim = 256;

  // Two warpgroups multiply, one prepares rows; of the fourth, a warp starts the weights' copies and one
  // the rows'. Registers are dealt to whole warpgroups: together 512 for four threads.
  static constexpr int kConsumers = 256;
  static constexpr int kPreparers = 128;
  static constexpr int kThreads = kConsumers + kPreparers + 128;
  static constexpr int kConsumerRegisters = 168;
  static constexpr int kPreparerRegisters = 104;
  static constexpr int kCopierRegisters = 72;
  // Blocks work in pairs (clusters), which can share the inner dimension of a product.
  static constexpr int kCluster = 2;

  // Outputs of a tile, at most: rows of the weight matrix that are multiplied at once. A step uses as
  // many of them as give every block the same work.
  static constexpr int kTile = 64;
  // A stage of the ring: two blocks of 64 columns (128 bytes, swizzled by the copy) of a tile's
  // weights. Stages of low tiles are smaller, and more of them fit.
  static constexpr int kBlock = 64;
  static constexpr int kStageBlocks = 2;
  static constexpr int kMostStageBytes = kStageBlocks * kTile * kBlock * 2;
  static constexpr int kRingBytes = 9 * kMostStageBytes;
  static constexpr int kStages = 16;
  // Who waits for every other stage of the ring waits for none before the one that had its place is there: a
  // barrier tells only even phases from odd ones.
  static constexpr int kMostOnTheWay = kStages - 4;
  static constexpr int kBytesOnTheWay = 48 * 1024;  // of a block: 132 such saturate the memory

  // Rows come in groups of eight blocks of 64 columns. They stay for all tiles of a step if all of a
  // block's part of the inner dimension fits.
  static constexpr int kGroupBlocks = 8;
  static constexpr int kGroupStages = kGroupBlocks / kStageBlocks;
  template <int kRows>
  static constexpr int kRowBytes = kRows * 128;  // of a block
  template <int kRows>
  static constexpr int kGroupBytes = kGroupBlocks* kRowBytes<kRows>;
  static constexpr int kAllRowBytes = 64 * 1024;
  template <int kRows>
  static constexpr int kGroups = kAllRowBytes / kGroupBytes<kRows>;

  // Sums of a tile, by warpgroup and row.
  static constexpr int kSumPitch = kTile + 4;
  static constexpr int kSumBytes = 2 * static_cast<int>(kMostRows) * kSumPitch * 4;
  // Sums from the other block of a pair, for half of the rows, of two tiles.
  static constexpr int kSentBytes = 2 * static_cast<int>(kMostRows) / 2 * kTile * 4;
  static constexpr int kBufferBytes = kRingBytes + kAllRowBytes + kSumBytes + kSentBytes;

  // Unsigned integers that are zero between launches: one for each step, and one for each item.
  static constexpr int kCounters = kMostSteps + kMostItems;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_TRAITS_H_
