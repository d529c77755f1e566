// Static facts of the embed kernel.
#ifndef DRAFTMARK_KERNELS_EMBED_EMBED_TRAITS_H_
#define DRAFTMARK_KERNELS_EMBED_EMBED_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct EmbedTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;                    // one chunk of 8 elements each
  static constexpr std::int64_t kColumns = kThreads * 8;  // of a block
  static constexpr std::int64_t kSumRows = 16;

  // Parts of a row's sum of squares.
  static constexpr std::int64_t SumParts(std::int64_t h) { return (h + kColumns - 1) / kColumns; }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_EMBED_EMBED_TRAITS_H_
