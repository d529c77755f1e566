// Static facts of the Markov step.
#ifndef DRAFTMARK_KERNELS_MARKOV_STEP_MARKOV_STEP_TRAITS_H_
#define DRAFTMARK_KERNELS_MARKOV_STEP_MARKOV_STEP_TRAITS_H_

#include <cstdint>

#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct MarkovStepTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;

  // The gated and the rnn head keep, in BF16: the joined input of their projection, its output, and
  // the latent rows. The vanilla head needs nothing.
  static constexpr std::uint64_t Align(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }
  static constexpr std::uint64_t JoinedBytes(std::int64_t rows, std::int64_t h, std::int64_t r) {
    return Align(static_cast<std::uint64_t>(rows * (h + 2 * r)) * sizeof(BFloat16));
  }
  static constexpr std::uint64_t ProjectedBytes(std::int64_t rows, std::int64_t r) {
    return Align(static_cast<std::uint64_t>(rows * 3 * r) * sizeof(BFloat16));
  }
  static constexpr std::uint64_t LatentBytes(std::int64_t rows, std::int64_t r) {
    return Align(static_cast<std::uint64_t>(rows * r) * sizeof(BFloat16));
  }
  static constexpr std::uint64_t WorkspaceBytes(bool vanilla, std::int64_t rows, std::int64_t h,
                                                std::int64_t r) {
    return vanilla ? 0 : JoinedBytes(rows, h, r) + ProjectedBytes(rows, r) + LatentBytes(rows, r);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_MARKOV_STEP_MARKOV_STEP_TRAITS_H_
