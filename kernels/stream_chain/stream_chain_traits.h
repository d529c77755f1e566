// Static facts of the stream_chain kernels.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_TRAITS_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_TRAITS_H_

#include <algorithm>
#include <cstdint>

namespace draftmark::kernels {

struct StreamChainTraits {
  static constexpr int kMinimumArch = 90;  // bulk copies, programmatic dependent launch
  static constexpr std::int64_t kMostRows = 16;

  // Each with 128 registers: one warp more, and they would be 96.
  static constexpr int kWarps = 16;
  static constexpr int kThreads = kWarps * 32;

  // Outputs of a tile: rows of the weight matrix that are multiplied at once. A launch uses as many
  // of the 16 rows as give every block the same work.
  static constexpr int kTile = 16;
  // A stage of the ring: a tile's rows, kChunk columns of each, in blocks of 64 columns (128 bytes,
  // swizzled by the copy); each warp multiplies one block of every stage.
  static constexpr int kBlock = 64;
  static constexpr int kChunk = kBlock * kWarps;
  static constexpr int kStageBytes = kTile * kChunk * 2;
  template <int kColumns>
  static constexpr int kStages = kColumns > 8 ? 5 : 6;
  // Per warp, sums of a tile [columns, kTile], twice: one is read while the next is written.
  static constexpr int kSumPitch = kTile + 4;
  template <int kColumns>
  static constexpr int kSharedBytes =
      1024 + kStages<kColumns> * kStageBytes + 2 * kWarps * kColumns * kSumPitch * 4;

  // Rows stay in registers for so many chunks of the inner dimension. A longer one is cut into
  // segments, and sums of the block's tiles stay in registers as well.
  static constexpr std::int64_t kMostChunks = 5;
  static constexpr std::int64_t kChunksOfSegment = 3;
  static constexpr std::int64_t kMostTiles = 3;  // of a block, with segments
  static constexpr int kMostSteps = 8;
  static constexpr int kMostHeadSteps = 24;
  static constexpr int kMostHeadDim = 256;
  static constexpr std::int64_t Chunks(std::int64_t k) { return (k + kChunk - 1) / kChunk; }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_TRAITS_H_
