// How many drafts to keep, from the confidence logits: spec/drafter.md section 6.3. Host arithmetic
// in float64.
#ifndef DRAFTMARK_SRC_REFERENCE_PREFIX_RULES_H_
#define DRAFTMARK_SRC_REFERENCE_PREFIX_RULES_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace draftmark::reference {

// The normative rule: the index of the first row with sigmoid(kappa) < tau (strictly), or all rows.
// tau <= 0 keeps all.
std::size_t ThresholdPrefix(std::span<const double> kappa, double tau);

// The longest prefix whose product of confidences is at least `tau`. `confidence` holds c_i =
// sigmoid(kappa_i).
std::size_t SurvivalPrefix(std::span<const double> confidence, double tau);

// DSpark's scheduler: which prefix of each request to verify so that expected tokens per second are
// greatest. `survival[r]` holds the products a_{r,1..}; `steps_per_second(tokens)` is the cost
// table SPS(B). Stops at the first candidate that does not raise the throughput. Equal survival:
// lower request first, then the earlier draft.
std::vector<std::size_t> ScheduledPrefixes(
    std::span<const std::vector<double>> survival,
    const std::function<double(std::size_t)>& steps_per_second);

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_PREFIX_RULES_H_
