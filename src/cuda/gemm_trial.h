// The choice among measured algorithms (gemm_tuning.h), without a device.
#ifndef DRAFTMARK_SRC_CUDA_GEMM_TRIAL_H_
#define DRAFTMARK_SRC_CUDA_GEMM_TRIAL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace draftmark {

struct GemmTrial {
  bool same_bits = false;  // as the first one's; false for one that did not run
  double milliseconds = 0;
};

// The fastest with the same bits, if it is faster than the first by more than two of the same are apart.
inline std::size_t FastestTrial(std::span<const GemmTrial> trials) {
  constexpr double kGain = 0.99;
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (!trials[i].same_bits || trials[i].milliseconds >= kGain * trials[0].milliseconds) continue;
    if (best == 0 || trials[i].milliseconds < trials[best].milliseconds) best = i;
  }
  return best;
}

// Whether equal bits prove anything: at least half of the elements (16 bits each) are not the first one.
inline bool SaysSomething(std::span<const std::uint16_t> elements) {
  if (elements.empty()) return false;
  const auto alike = std::count(elements.begin(), elements.end(), elements.front());
  return static_cast<std::size_t>(alike) * 2 <= elements.size();
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_GEMM_TRIAL_H_
