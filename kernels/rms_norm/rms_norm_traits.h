// Static facts of the rms_norm kernel.
#ifndef DRAFTMARK_KERNELS_RMS_NORM_RMS_NORM_TRAITS_H_
#define DRAFTMARK_KERNELS_RMS_NORM_RMS_NORM_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct RmsNormTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kMostThreads = 1024;
  // Chunks of 8 elements that a thread keeps between its two passes: rows up to 32768 are read once.
  static constexpr int kHeldChunks = 4;
  static constexpr int kUsualChunks = 2;  // what the block's size aims at

  // Of a row's block: depends on the width alone, so that a row's sum does not depend on other rows.
  static constexpr int Threads(std::int64_t h) {
    const std::int64_t warps = (h + 8 * kUsualChunks * 32 - 1) / (8 * kUsualChunks * 32);
    return warps < kMostThreads / 32 ? static_cast<int>(warps) * 32 : kMostThreads;
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_RMS_NORM_RMS_NORM_TRAITS_H_
