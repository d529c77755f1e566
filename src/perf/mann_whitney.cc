#include "src/perf/mann_whitney.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "src/base/check.h"

namespace draftmark {
namespace {

// Ranks counted from 0 in units that make them integers: halves where values are tied.
struct RankedValues {
  std::vector<std::int64_t> ranks;  // ascending, both sides together
  std::int64_t observed = 0;        // sum of the first side's
};

RankedValues RankTogether(std::span<const double> base, std::span<const double> next) {
  std::vector<std::pair<double, bool>> all;  // value, of the first side
  for (const double value : base) all.emplace_back(value, true);
  for (const double value : next) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  RankedValues ranked;
  bool halves = false;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const auto twice = static_cast<std::int64_t>(begin + end - 1);
    halves |= twice % 2 != 0;
    for (std::size_t i = begin; i < end; ++i) {
      ranked.ranks.push_back(twice);
      if (all[i].second) ranked.observed += twice;
    }
  }
  if (!halves) {
    for (std::int64_t& rank : ranked.ranks) rank /= 2;
    ranked.observed /= 2;
  }
  return ranked;
}

}  // namespace

double MannWhitneyP(std::span<const double> base, std::span<const double> next) {
  DM_CHECK(!base.empty() && base.size() <= kMostRuns);
  DM_CHECK(!next.empty() && next.size() <= kMostRuns);
  const RankedValues ranked = RankTogether(base, next);
  const std::size_t chosen = base.size();
  const auto total = static_cast<std::int64_t>(ranked.ranks.size());

  // ways[k][s]: how many subsets of k values have the rank sum s. Sums are integers below 2^53 for
  // all sizes at which enumeration is possible, so nothing is rounded there.
  std::int64_t largest_sum = 0;
  std::int64_t all_ranks = 0;
  for (std::size_t i = 0; i < ranked.ranks.size(); ++i) {
    all_ranks += ranked.ranks[i];
    if (i + chosen >= ranked.ranks.size()) largest_sum += ranked.ranks[i];
  }
  const auto width = static_cast<std::size_t>(largest_sum) + 1;
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(width, 0.0));
  ways[0][0] = 1;
  for (std::size_t i = 0; i < ranked.ranks.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranked.ranks[i]);
    for (std::size_t k = std::min(chosen, i + 1); k > 0; --k) {
      const double* const from = ways[k - 1].data();
      double* const to = ways[k].data();
      for (std::size_t s = rank; s < width; ++s) to[s] += from[s - rank];
    }
  }

  // U and the rank sum differ by a constant, so both lie equally far from their means; times the
  // number of values, the mean is an integer too.
  const std::int64_t mean = static_cast<std::int64_t>(chosen) * all_ranks;
  const std::int64_t seen = std::abs(ranked.observed * total - mean);
  double extreme = 0;
  double splits = 0;
  for (std::size_t s = 0; s < width; ++s) {
    const double count = ways[chosen][s];
    splits += count;
    if (std::abs(static_cast<std::int64_t>(s) * total - mean) >= seen) extreme += count;
  }
  return extreme / splits;
}

}  // namespace draftmark
