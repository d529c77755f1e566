#include "src/perf/ratio_bootstrap.h"

#include <algorithm>
#include <cmath>

#include "src/base/check.h"
#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

// The medians of kResamples draws with replacement. How often each of the sorted values was drawn
// is all that a median needs.
std::vector<double> ResampledMedians(std::span<const double> values, std::uint64_t seed) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const std::uint64_t key = Mix64(seed);
  std::uint64_t counter = 0;
  std::vector<std::size_t> drawn(count);
  std::vector<double> medians;
  medians.reserve(kResamples);
  for (std::size_t resample = 0; resample < kResamples; ++resample) {
    std::fill(drawn.begin(), drawn.end(), 0);
    for (std::size_t i = 0; i < count; i += 2) {
      // Two draws from one hash, each by the upper part of a product: biased by less than 2^-25.
      const std::uint64_t bits = Mix64(key ^ counter++);
      ++drawn[((bits >> 32) * count) >> 32];
      if (i + 1 < count) ++drawn[((bits & 0xFFFFFFFFu) * count) >> 32];
    }
    std::size_t below = 0;
    std::size_t at = 0;
    const auto value_at = [&](std::size_t rank) {  // ranks ascend from call to call
      while (below + drawn[at] <= rank) below += drawn[at++];
      return sorted[at];
    };
    const double lower = value_at((count - 1) / 2);
    const double upper = value_at(count / 2);
    medians.push_back(lower + (upper - lower) / 2);
  }
  return medians;
}

}  // namespace

RatioBootstrap::RatioBootstrap(std::span<const double> base, std::span<const double> next,
                               std::uint64_t seed)
    : ratios_(kResamples) {
  DM_CHECK(!base.empty() && !next.empty());
  const std::vector<double> below = ResampledMedians(base, BitsAt(seed, 0));
  const std::vector<double> above = ResampledMedians(next, BitsAt(seed, 1));
  for (std::size_t i = 0; i < kResamples; ++i) ratios_[i] = above[i] / below[i];
  std::sort(ratios_.begin(), ratios_.end());
}

Interval RatioBootstrap::Central(double confidence) const {
  DM_CHECK(confidence > 0 && confidence < 1);
  const auto left_out =
      static_cast<std::size_t>(std::floor((1 - confidence) / 2 * kResamples + 1e-6));
  return {ratios_[left_out], ratios_[kResamples - 1 - left_out]};
}

}  // namespace draftmark
