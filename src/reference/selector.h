// Candidate selector of DFlash2: top-16 of each row, then a greedy left-to-right walk.
// spec/drafter.md section 7.2.
#ifndef DRAFTMARK_SRC_REFERENCE_SELECTOR_H_
#define DRAFTMARK_SRC_REFERENCE_SELECTOR_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/reference/elementwise.h"
#include "src/reference/linear.h"
#include "src/reference/numeric.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

struct Candidates {
  std::vector<double> values;      // descending; ties by ascending id; padded with kNoCandidate
  std::vector<std::uint32_t> ids;  // padded with 0
  double gap = 0;  // last candidate minus the best that is left out; 0 if nothing is left out
};

// The `count` greatest values above kNoCandidate.
template <typename N>
Candidates TopK(std::span<const typename N::Storage> logits, std::size_t count) {
  std::vector<std::uint32_t> order;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (N::Load(logits[id]) > kNoCandidate) order.push_back(static_cast<std::uint32_t>(id));
  }
  const std::size_t kept = std::min(count, order.size());
  const std::size_t ranked = std::min(count + 1, order.size());  // one more, for the gap
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(ranked), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      const double x = N::Load(logits[a]);
                      const double y = N::Load(logits[b]);
                      return x != y ? x > y : a < b;
                    });
  Candidates result;
  for (std::size_t i = 0; i < count; ++i) {
    result.values.push_back(i < kept ? N::Load(logits[order[i]]) : kNoCandidate);
    result.ids.push_back(i < kept ? order[i] : 0);
  }
  if (ranked > count) result.gap = result.values.back() - N::Load(logits[order[count]]);
  return result;
}

// Scores of one row's candidates given its predecessor: U[k] + sum over r of predecessor[prev][r] *
// H[r] * successor[id[k]][r]. H (`hidden`) is the stored hidden projection of the row; the rest
// stays in float64.
template <typename N>
std::vector<double> SelectorScores(const Candidates& candidates, std::uint32_t previous,
                                   std::span<const typename N::Storage> hidden,
                                   const Bf16Matrix& predecessor, const Bf16Matrix& successor) {
  const std::size_t rank = hidden.size();
  std::vector<double> gate(rank), code(rank);
  for (std::size_t r = 0; r < rank; ++r)
    gate[r] = predecessor.row(previous)[r].ToDouble() * N::Load(hidden[r]);
  std::vector<double> scores;
  for (std::size_t k = 0; k < candidates.ids.size(); ++k) {
    for (std::size_t r = 0; r < rank; ++r) code[r] = successor.row(candidates.ids[k])[r].ToDouble();
    scores.push_back(candidates.values[k] + Dot(gate.data(), code.data(), rank));
  }
  return scores;
}

// The candidate that the walk takes: greedy, not Viterbi; the smallest k wins a tie.
inline std::uint32_t ChooseCandidate(const Candidates& candidates, std::span<const double> scores) {
  return candidates.ids[ArgMax<ExactNumeric>(scores)];
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_SELECTOR_H_
