#include "src/reference/prefix_rules.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace draftmark::reference {

std::size_t ThresholdPrefix(std::span<const double> kappa, double tau) {
  if (tau <= 0) return kappa.size();
  for (std::size_t i = 0; i < kappa.size(); ++i) {
    if (1 / (1 + std::exp(-kappa[i])) < tau) return i;
  }
  return kappa.size();
}

std::size_t SurvivalPrefix(std::span<const double> confidence, double tau) {
  double product = 1;
  for (std::size_t i = 0; i < confidence.size(); ++i) {
    product *= confidence[i];
    if (!(product >= tau)) return i;
  }
  return confidence.size();
}

std::vector<std::size_t> ScheduledPrefixes(
    std::span<const std::vector<double>> survival,
    const std::function<double(std::size_t)>& steps_per_second) {
  struct Candidate {
    double survival;
    std::size_t request;
    std::size_t draft;
  };
  std::vector<Candidate> candidates;
  for (std::size_t r = 0; r < survival.size(); ++r) {
    for (std::size_t j = 0; j < survival[r].size(); ++j) {
      if (survival[r][j] > 0) candidates.push_back({survival[r][j], r, j});
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::make_tuple(-a.survival, a.request, a.draft) <
           std::make_tuple(-b.survival, b.request, b.draft);
  });
  std::vector<std::size_t> kept(survival.size(), 0);
  // Every request verifies its anchor: one token each, of which one comes out.
  std::size_t tokens = survival.size();
  auto expected = static_cast<double>(survival.size());
  double best = expected * steps_per_second(tokens);
  for (const Candidate& candidate : candidates) {
    ++tokens;
    expected += candidate.survival;
    const double throughput = expected * steps_per_second(tokens);
    if (!(throughput > best)) break;
    best = throughput;
    kept[candidate.request] = candidate.draft + 1;
  }
  return kept;
}

}  // namespace draftmark::reference
