// Heads of DSpark: the Markov bias (vanilla, gated, rnn) and the confidence logit. spec/drafter.md
// sections 6.1 and 6.2.
#ifndef DRAFTMARK_SRC_REFERENCE_MARKOV_H_
#define DRAFTMARK_SRC_REFERENCE_MARKOV_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/reference/copies.h"
#include "src/reference/linear.h"
#include "src/reference/numeric.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One sequence's walk through the Markov head: Step(prev, y_j) for the draft rows in order.
template <typename N>
class MarkovWalk {
 public:
  using Storage = typename N::Storage;

  explicit MarkovWalk(const MarkovWeights& weights)
      : weights_(weights), state_(weights.w1.cols(), N::Store(0)) {}

  // The embedding of the previous token, as the step and the confidence head read it: an exact
  // copy.
  void Gather(std::uint32_t previous, std::span<Storage> embedding) const {
    CopyRow<N>(weights_.w1.row(previous), embedding);
  }

  // The bias b_j over the vocabulary, rounded once as the output of its linear layer. `hidden` is
  // y_j.
  void Bias(std::span<const Storage> embedding, std::span<const Storage> hidden,
            std::span<Storage> bias) {
    const std::vector<Storage> latent = Latent(embedding, hidden);
    Linear<N>(latent, 1, weights_.w2, {}, bias.data(), bias.size());
  }

 private:
  std::vector<Storage> Latent(std::span<const Storage> e, std::span<const Storage> y) {
    if (weights_.type == MarkovType::kVanilla) return {e.begin(), e.end()};
    const std::size_t rank = e.size();
    std::vector<Storage> latent(rank);
    std::vector<Storage> input;
    if (weights_.type == MarkovType::kGated) {
      input.insert(input.end(), y.begin(), y.end());
      input.insert(input.end(), e.begin(), e.end());
      std::vector<Storage> gate(rank);
      Linear<N>(input, 1, weights_.gate_proj, weights_.gate_bias.values(), gate.data(), rank);
      for (std::size_t i = 0; i < rank; ++i) {
        latent[i] = N::Store(Sigmoid(N::Load(gate[i])) * N::Load(e[i]));
      }
      return latent;
    }
    // rnn: [g, c, o] = joint([s; e; y]); s' = sigmoid(g) * s + (1 - sigmoid(g)) * tanh(c); latent =
    // tanh(o).
    input.insert(input.end(), state_.begin(), state_.end());
    input.insert(input.end(), e.begin(), e.end());
    input.insert(input.end(), y.begin(), y.end());
    std::vector<Storage> joint(3 * rank);
    Linear<N>(input, 1, weights_.joint_proj, weights_.joint_bias.values(), joint.data(),
              joint.size());
    for (std::size_t i = 0; i < rank; ++i) {
      const double keep = Sigmoid(N::Load(joint[i]));
      state_[i] =
          N::Store(keep * N::Load(state_[i]) + (1 - keep) * std::tanh(N::Load(joint[rank + i])));
      latent[i] = N::Store(std::tanh(N::Load(joint[2 * rank + i])));
    }
    return latent;
  }

  const MarkovWeights& weights_;
  std::vector<Storage> state_;  // rnn only
};

// kappa_j = Store(w . [y_j; e_j] + bias); e_j is left out (empty) for a head without Markov
// features.
template <typename N>
typename N::Storage ConfidenceLogit(const ConfidenceWeights& weights,
                                    std::span<const typename N::Storage> hidden,
                                    std::span<const typename N::Storage> embedding) {
  std::vector<typename N::Storage> feature(hidden.begin(), hidden.end());
  feature.insert(feature.end(), embedding.begin(), embedding.end());
  typename N::Storage result;
  Linear<N>(feature, 1, weights.proj, weights.bias.values(), &result, 1);
  return result;
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_MARKOV_H_
