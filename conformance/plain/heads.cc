// The Markov and confidence heads of DSpark and the candidate selector of DFlash2.
//
// The walks follow the tokens that the run itself chose, where it shows them: a row is then judged
// alone, and one wrong token is not repeated in every later row.
#include <algorithm>
#include <cmath>

#include "conformance/plain/state.h"

namespace draftmark::plain {

using enum Mistake;

// The token that draft `draft` takes as its predecessor; `chosen` is the one before it.
std::uint32_t Forward::Previous(std::size_t draft, std::uint32_t chosen) const {
  const DraftRows drafts = Drafts();
  if (draft == 0) {
    if (Makes(kMarkovPrevRowZero)) return static_cast<std::uint32_t>(Choose(LogitsOf(0)));
    return Anchor();
  }
  if (Makes(kMarkovPrevUnbiased))
    return static_cast<std::uint32_t>(Choose(LogitsOf(drafts.first + draft - 1)));
  if (Makes(kMarkovPrevAnchor) || Makes(kSelectorPrevAnchor)) return Anchor();
  return chosen;
}

// The bias over the vocabulary, rounded. `carried` is the recurrent head's state. Magnitudes are of
// what the bias was rounded from: for the other heads these are sums of products of rounded gates.
Terms Forward::MarkovBias(std::uint32_t previous, std::size_t row, std::vector<double>& carried) {
  const MarkovWeights& w = weights_.markov;
  const std::size_t rank = w.w1.cols();
  const bool swapped = Makes(kMarkovSwapped);
  std::vector<double> e;
  for (const BFloat16 value : (swapped ? w.w2 : w.w1).row(previous)) e.push_back(value.ToDouble());
  const std::span<const double> y = HiddenOf(row);
  std::vector<double> latent = e;
  if (w.type == MarkovType::kGated) {
    std::vector<double> feature(y.begin(), y.end());
    feature.insert(feature.end(), e.begin(), e.end());
    const std::vector<double> gate =
        Rounded(Linear(feature, w.gate_proj, w.gate_bias.values()).values);
    for (std::size_t i = 0; i < rank; ++i) latent[i] = hook_.Round(Sigmoid(gate[i]) * e[i]);
  } else if (w.type == MarkovType::kRnn) {
    if (carried.empty() || Makes(kRnnStateLost)) carried.assign(rank, 0);
    std::vector<double> feature = carried;
    feature.insert(feature.end(), e.begin(), e.end());
    feature.insert(feature.end(), y.begin(), y.end());
    const std::vector<double> joint =
        Rounded(Linear(feature, w.joint_proj, w.joint_bias.values()).values);
    for (std::size_t i = 0; i < rank; ++i) {
      const double keep = Sigmoid(joint[i]);
      carried[i] = hook_.Round(keep * carried[i] + (1 - keep) * std::tanh(joint[rank + i]));
      latent[i] = hook_.Round(std::tanh(joint[2 * rank + i]));
    }
  }
  Terms bias = Linear(latent, swapped ? w.w1 : w.w2);
  bias.values = Rounded(std::move(bias.values));
  if (w.type != MarkovType::kVanilla) return bias;
  for (std::size_t v = 0; v < bias.values.size(); ++v) bias.magnitude[v] = std::abs(bias.values[v]);
  return bias;
}

Terms Forward::Confidence(std::uint32_t previous, std::size_t row) {
  const std::span<const double> y = HiddenOf(row);
  std::vector<double> feature(y.begin(), y.end());
  if (config_.confidence_head_with_markov) {
    std::vector<double> e;
    for (const BFloat16 value : weights_.markov.w1.row(previous)) e.push_back(value.ToDouble());
    if (Makes(kConfidenceNoMarkov)) e.assign(e.size(), 0);
    feature.insert(Makes(kConfidenceOrder) ? feature.begin() : feature.end(), e.begin(), e.end());
  }
  return Linear(feature, weights_.confidence.proj, weights_.confidence.bias.values());
}

void Forward::EmitConfidence(Terms confidence, bool local) {
  if (Makes(kConfidenceStale) && Later()) {
    // Which rows were skipped only the run knows: those that repeat the previous step's value.
    const std::vector<double>* const own = Peek("confidence_logits");
    const std::vector<double>& before = state().confidence;
    for (std::size_t i = 0; own != nullptr && i < std::min(before.size(), own->size()); ++i) {
      if ((*own)[i] == before[i]) confidence.values[i] = before[i];
    }
  }
  state().confidence = Emit("confidence_logits", std::move(confidence), local).values;
}

void Forward::MarkovHead() {
  const DraftRows drafts = Drafts();
  const std::size_t vocabulary = config_.vocab_size;
  const bool markov = weights_.markov.present() && !Makes(kMarkovMissing);
  const std::vector<double>* const own_biased = Peek("markov.logits");
  Terms biased{state().logits.values, {}};
  for (const double value : biased.values) biased.magnitude.push_back(std::abs(value));
  Terms confidence;
  std::vector<double> carried;
  std::vector<double> largest_bias(drafts.count, 0);
  std::uint32_t chosen = Anchor();
  for (std::size_t d = 0; d < drafts.count; ++d) {
    const std::size_t row = drafts.first + d;
    const std::uint32_t previous = Previous(d, chosen);
    if (markov) {
      const Terms bias = MarkovBias(previous, row, carried);
      const bool exempt = Makes(kMarkovRowZeroExempt) && d == 0;
      for (std::size_t v = 0; v < vocabulary && !exempt; ++v) {
        biased.values[row * vocabulary + v] += bias.values[v];
        biased.magnitude[row * vocabulary + v] += bias.magnitude[v];
        largest_bias[d] = std::max(largest_bias[d], bias.magnitude[v]);
      }
    }
    if (weights_.confidence.present()) {
      const Terms one = Confidence(previous, row);
      confidence.values.push_back(one.values[0]);
      confidence.magnitude.push_back(one.magnitude[0]);
    }
    std::vector<double> scores(vocabulary);
    for (std::size_t v = 0; v < vocabulary; ++v) {
      const std::size_t i = row * vocabulary + v;
      scores[v] = own_biased != nullptr ? (*own_biased)[i] : hook_.Round(biased.values[i]);
    }
    chosen = Chosen(d, static_cast<std::uint32_t>(Choose(scores)));
  }
  const bool from_hidden =
      weights_.markov.present() && weights_.markov.type != MarkovType::kVanilla;
  const bool path_known = own_biased != nullptr || Peek("draft_tokens") != nullptr;
  const Given scores = Emit("markov.logits", std::move(biased),
                            state().logits.given && (!from_hidden || state().norm.given));
  if (weights_.confidence.present()) {
    EmitConfidence(std::move(confidence),
                   state().norm.given && (path_known || !config_.confidence_head_with_markov));
  }
  std::vector<Choice> choices;
  for (std::size_t d = 0; d < drafts.count; ++d) {
    const auto begin =
        scores.values.begin() + static_cast<std::ptrdiff_t>((drafts.first + d) * vocabulary);
    choices.push_back(
        {{}, {begin, begin + static_cast<std::ptrdiff_t>(vocabulary)}, largest_bias[d]});
  }
  EmitTokens(std::move(choices), scores.given);
}

double Forward::SelectorTerm(std::uint32_t previous, std::uint32_t candidate,
                             std::span<const double> hidden, double* magnitude) const {
  const SelectorWeights& w = weights_.selector;
  const bool swapped = Makes(kSelectorSwapped);
  const std::span<const BFloat16> from = (swapped ? w.successor : w.predecessor).row(previous);
  const std::span<const BFloat16> to = (swapped ? w.predecessor : w.successor).row(candidate);
  double sum = 0;
  for (std::size_t r = 0; r < hidden.size(); ++r) {
    const double term = from[r].ToDouble() * hidden[r] * to[r].ToDouble();
    sum += term;
    if (magnitude != nullptr) *magnitude += std::abs(term);
  }
  return sum;
}

// The path of candidates with the highest sum of scores.
std::vector<std::uint32_t> Forward::ViterbiPath(const std::vector<Choice>& candidates,
                                                const Given& hidden) const {
  const std::size_t rank = weights_.selector.hidden_projection.rows();
  std::vector<std::vector<double>> best(candidates.size());
  std::vector<std::vector<std::size_t>> from(candidates.size());
  for (std::size_t t = 0; t < candidates.size(); ++t) {
    const std::span<const double> row = std::span(hidden.values).subspan(t * rank, rank);
    for (std::size_t k = 0; k < candidates[t].ids.size(); ++k) {
      double top = -INFINITY;
      std::size_t source = 0;
      for (std::size_t p = 0; p < (t == 0 ? 1 : candidates[t - 1].ids.size()); ++p) {
        const std::uint32_t previous = t == 0 ? Anchor() : candidates[t - 1].ids[p];
        const double sum = (t == 0 ? 0 : best[t - 1][p]) +
                           SelectorTerm(previous, candidates[t].ids[k], row, nullptr);
        if (sum > top) {
          top = sum;
          source = p;
        }
      }
      best[t].push_back(top + candidates[t].scores[k]);
      from[t].push_back(source);
    }
  }
  std::vector<std::uint32_t> path(candidates.size());
  std::size_t k = ArgMax(best.back());
  for (std::size_t t = candidates.size(); t-- > 0; k = from[t][k]) path[t] = candidates[t].ids[k];
  return path;
}

std::vector<Choice> Forward::SelectorCandidates(bool& local) {
  const DraftRows drafts = Drafts();
  const std::size_t top = config_.selector_top_k;
  Terms ids, unary, gaps;
  std::vector<Choice> rows;
  for (std::size_t d = 0; d < drafts.count; ++d) {
    const std::span<const double> logits = LogitsOf(drafts.first + d);
    const TopValues best = TopK(logits, top);
    ids.values.insert(ids.values.end(), best.ids.begin(), best.ids.end());
    gaps.values.push_back(best.gap);
    gaps.magnitude.push_back(std::abs(best.values.back()));
    rows.push_back({{}, {logits.begin(), logits.end()}, 0});
  }
  ids.magnitude.assign(ids.values.size(), 0);
  const Given candidates =
      Emit("selector.candidate_ids", std::move(ids), state().logits.given, std::move(rows));
  for (std::size_t i = 0; i < candidates.values.size(); ++i) {
    const auto id = static_cast<std::size_t>(candidates.values[i]);
    unary.values.push_back(LogitsOf(drafts.first + i / top)[id]);
    unary.magnitude.push_back(std::abs(unary.values.back()));
  }
  const Given u = Emit("selector.unary", std::move(unary), state().logits.given);
  Emit("selector.topk_gap", std::move(gaps), state().logits.given);
  local = u.given;
  std::vector<Choice> choices(drafts.count);
  for (std::size_t i = 0; i < candidates.values.size(); ++i) {
    choices[i / top].ids.push_back(static_cast<std::uint32_t>(candidates.values[i]));
    choices[i / top].scores.push_back(u.values[i]);
  }
  return choices;
}

void Forward::SelectorHead() {
  const DraftRows drafts = Drafts();
  const std::size_t h = config_.hidden_size;
  const std::size_t top = config_.selector_top_k;
  const std::size_t rank = weights_.selector.hidden_projection.rows();
  const Given hidden =
      Emit("selector.hidden_projection",
           Linear(std::span(state().norm.values).subspan(drafts.first * h, drafts.count * h),
                  weights_.selector.hidden_projection),
           state().norm.given);
  bool local = false;
  std::vector<Choice> choices = SelectorCandidates(local);
  const std::vector<std::uint32_t> viterbi =
      Makes(kSelectorViterbi) ? ViterbiPath(choices, hidden) : std::vector<std::uint32_t>();
  const std::vector<double>* const own_scores = Peek("selector.scores");
  Terms scores;
  std::uint32_t chosen = Anchor();
  for (std::size_t d = 0; d < drafts.count; ++d) {
    const std::uint32_t previous = Previous(d, chosen);
    std::vector<double> row;
    for (std::size_t k = 0; k < top; ++k) {
      double magnitude = std::abs(choices[d].scores[k]);
      row.push_back(choices[d].scores[k] +
                    SelectorTerm(previous, choices[d].ids[k],
                                 std::span(hidden.values).subspan(d * rank, rank), &magnitude));
      scores.magnitude.push_back(magnitude);
      choices[d].magnitude = std::max(choices[d].magnitude, magnitude);
    }
    scores.values.insert(scores.values.end(), row.begin(), row.end());
    if (own_scores != nullptr)
      std::copy_n(own_scores->begin() + static_cast<std::ptrdiff_t>(d * top), top, row.begin());
    std::uint32_t token = choices[d].ids[ArgMax(row)];
    if (Makes(kSelectorIndependent))
      token = static_cast<std::uint32_t>(ArgMax(LogitsOf(drafts.first + d)));
    if (Makes(kSelectorViterbi)) token = viterbi[d];
    chosen = Chosen(d, token);
  }
  const Given s = Emit("selector.scores", std::move(scores), local && hidden.given);
  local = s.given;
  for (std::size_t d = 0; d < drafts.count; ++d) {
    std::copy_n(s.values.begin() + static_cast<std::ptrdiff_t>(d * top), top,
                choices[d].scores.begin());
  }
  const std::vector<Choice> walked = choices;
  for (std::size_t d = 0; d < drafts.count; ++d) {
    if (Makes(kSelectorIndependent)) {
      const std::span<const double> logits = LogitsOf(drafts.first + d);
      choices[d] = {{}, {logits.begin(), logits.end()}, 0};
      local = state().logits.given;
    }
    if (Makes(kSelectorViterbi)) choices[d] = {{viterbi[d]}, {0.0}, 0};
  }
  EmitTokens(std::move(choices), local, Makes(kSelectorViterbi) ? &walked : nullptr);
}

}  // namespace draftmark::plain
