// Static facts of the argmax kernels.
#ifndef DRAFTMARK_KERNELS_ARGMAX_ARGMAX_TRAITS_H_
#define DRAFTMARK_KERNELS_ARGMAX_ARGMAX_TRAITS_H_

#include <algorithm>
#include <cstdint>

namespace draftmark::kernels {

struct ArgmaxTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;
  // Of a row for one block, at least: two 16-byte loads for each thread, and 38 blocks for a row of 151936.
  static constexpr std::int64_t kLeastElements = 4096;
  // Many rows have longer pieces: all blocks find room at once, eight on each SM of an H200.
  static constexpr std::int64_t kBlocksAimedAt = 8 * 132;

  static constexpr std::int64_t MostPieces(std::int64_t v) {
    return (v + kLeastElements - 1) / kLeastElements;
  }
  static constexpr std::int64_t Pieces(std::int64_t rows, std::int64_t v) {
    return std::clamp<std::int64_t>(kBlocksAimedAt / rows, 1, MostPieces(v));
  }
  // A multiple of 8.
  static constexpr std::int64_t PieceElements(std::int64_t v, std::int64_t pieces) {
    return ((v + pieces - 1) / pieces + 7) / 8 * 8;
  }
  // A 64-bit key for each piece of each row: enough for fewer rows as well.
  static constexpr std::uint64_t WorkspaceBytes(std::int64_t rows, std::int64_t v) {
    return static_cast<std::uint64_t>(rows * MostPieces(v)) * sizeof(std::uint64_t);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ARGMAX_ARGMAX_TRAITS_H_
