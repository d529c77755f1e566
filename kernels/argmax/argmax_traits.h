// Static facts of the argmax kernels.
#ifndef DRAFTMARK_KERNELS_ARGMAX_ARGMAX_TRAITS_H_
#define DRAFTMARK_KERNELS_ARGMAX_ARGMAX_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct ArgmaxTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;
  // Of a row for one block: two 16-byte loads for each thread, and 38 blocks for a row of 151936.
  static constexpr std::int64_t kPieceElements = 4096;

  static constexpr std::int64_t Pieces(std::int64_t v) {
    return (v + kPieceElements - 1) / kPieceElements;
  }
  // A 64-bit key for each piece of each row.
  static constexpr std::uint64_t WorkspaceBytes(std::int64_t rows, std::int64_t v) {
    return static_cast<std::uint64_t>(rows * Pieces(v)) * sizeof(std::uint64_t);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ARGMAX_ARGMAX_TRAITS_H_
