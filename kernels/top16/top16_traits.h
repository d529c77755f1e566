// Static facts of the top16 kernels.
#ifndef DRAFTMARK_KERNELS_TOP16_TOP16_TRAITS_H_
#define DRAFTMARK_KERNELS_TOP16_TOP16_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct Top16Traits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kTop = 16;
  static constexpr int kThreads = 256;
  // Of a row for one block: each thread keeps 16 elements in registers, and an index within a piece
  // has 16 bits.
  static constexpr std::int64_t kPieceElements = 4096;
  static constexpr std::int64_t kMostPieces = 4096;  // a byte of shared memory each

  static constexpr std::int64_t Pieces(std::int64_t v) {
    return (v + kPieceElements - 1) / kPieceElements;
  }
  // Sixteen 64-bit keys for each piece of each row.
  static constexpr std::uint64_t WorkspaceBytes(std::int64_t rows, std::int64_t v) {
    return static_cast<std::uint64_t>(rows * Pieces(v)) * kTop * sizeof(std::uint64_t);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_TOP16_TOP16_TRAITS_H_
