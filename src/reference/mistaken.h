// What mutants compute instead (src/faults/fault.h), where it takes more than a line. Templates that
// no product calls, so that none holds them.
#ifndef DRAFTMARK_SRC_REFERENCE_MISTAKEN_H_
#define DRAFTMARK_SRC_REFERENCE_MISTAKEN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/config/drafter_config.h"
#include "src/faults/fault.h"
#include "src/reference/conv.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"
#include "src/reference/selector.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

// M25: projected context rows `normed` [n, h], treated as if they were block rows.
template <typename N>
std::vector<typename N::Storage> MistakenContextInput(const DrafterConfig& config,
                                                      const LayerWeights& w,
                                                      std::span<const typename N::Storage> normed) {
  const std::size_t h = config.hidden_size;
  const std::size_t n = normed.size() / h;
  std::vector<typename N::Storage> out(normed.begin(), normed.end());
  if (DM_FAULT(kContextInputNorm)) {
    RmsNorm<N>(normed, n, h, w.input_layernorm.values(), config.rms_norm_eps, out);
  } else if (config.conv_kernel_size > 0) {
    const std::size_t taps = config.conv_kernel_size;
    const std::size_t coefficients = 2 * taps * (h / config.conv_group_size);
    std::vector<typename N::Storage> dynamic(n * coefficients);
    Linear<N>(normed, n, w.attention_conv.kernel_projection, {}, dynamic.data(), coefficients);
    ApplyConv<N>(normed, dynamic, w.attention_conv.base_kernel, ConvSide::kPrepare, taps,
                 config.conv_group_size, n, out);
  }
  return out;
}

// M15b: the first choice of the best path over this row and all later ones. `logits` [rows,
// vocabulary] and `hidden` [rows, rank] begin with this row; `scores` are those of its candidates.
template <typename N>
std::uint32_t ViterbiChoice(const SelectorWeights& w, const Candidates& candidates,
                            const std::vector<double>& scores,
                            std::span<const typename N::Storage> logits,
                            std::span<const typename N::Storage> hidden) {
  const std::size_t rank = w.hidden_projection.rows();
  const std::size_t rows = hidden.size() / rank;
  const std::size_t vocabulary = logits.size() / rows;
  const std::size_t count = candidates.ids.size();
  std::vector<double> ahead(count, 0.0);  // of the best path behind each candidate of a row
  for (std::size_t j = rows; j-- > 1;) {
    const Candidates later = TopK<N>(logits.subspan(j * vocabulary, vocabulary), count);
    const Candidates before =
        j == 1 ? candidates : TopK<N>(logits.subspan((j - 1) * vocabulary, vocabulary), count);
    std::vector<double> longer(count);
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<double> path = SelectorScores<N>(
          later, before.ids[k], hidden.subspan(j * rank, rank), w.predecessor, w.successor);
      for (std::size_t i = 0; i < count; ++i) path[i] += ahead[i];
      longer[k] = *std::max_element(path.begin(), path.end());
    }
    ahead = longer;
  }
  for (std::size_t k = 0; k < count; ++k) ahead[k] += scores[k];
  return ChooseCandidate(candidates, ahead);
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_MISTAKEN_H_
