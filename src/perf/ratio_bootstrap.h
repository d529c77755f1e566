// Percentile bootstrap of the ratio of two medians: how far the ratio of the run values' medians
// could have come out otherwise.
//
//   const RatioBootstrap bootstrap(base, next);
//   const Interval wide = bootstrap.Central(0.998);   // decides that a shift is there
//   const Interval usual = bootstrap.Central(0.95);   // decides that none is
//
// Each side's runs are drawn again with replacement. The draws are seeded and counter-based: the
// same values, in any order, give the same interval on every machine. With few runs (below some 7)
// it is too narrow, which is why verdict.h refuses them. Const and thread-safe once made.
#ifndef DRAFTMARK_SRC_PERF_RATIO_BOOTSTRAP_H_
#define DRAFTMARK_SRC_PERF_RATIO_BOOTSTRAP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace draftmark {

inline constexpr std::size_t kResamples = 2000;
inline constexpr std::uint64_t kBootstrapSeed = 998;  // any fixed number

struct Interval {
  double low = 0;
  double high = 0;
};

class RatioBootstrap {
 public:
  // At least one value on each side, all above 0. Ratios are next over base.
  RatioBootstrap(std::span<const double> base, std::span<const double> next,
                 std::uint64_t seed = kBootstrapSeed);

  // Leaves out (1 - confidence) / 2 of the resamples at each end, in whole ones.
  Interval Central(double confidence) const;

 private:
  std::vector<double> ratios_;  // ascending
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_RATIO_BOOTSTRAP_H_
