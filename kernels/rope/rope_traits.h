// Static facts of the rope kernel.
#ifndef DRAFTMARK_KERNELS_ROPE_ROPE_TRAITS_H_
#define DRAFTMARK_KERNELS_ROPE_ROPE_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct RopeTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;
  // Heads of a block share its sines: 16 heads of 128 elements keep each thread at one chunk.
  static constexpr int kHeads = 16;
  static constexpr std::int64_t kMostPairs = 4096;  // 32 KiB of sines and cosines

  static constexpr std::uint64_t SharedBytes(std::int64_t pairs) {
    return static_cast<std::uint64_t>(pairs) * 2 * sizeof(float);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROPE_ROPE_TRAITS_H_
