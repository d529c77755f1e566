#include "src/reference/tail.h"

#include <cmath>
#include <string>

#include "src/reference/elementwise.h"
#include "src/reference/linear.h"
#include "src/reference/markov.h"
#include "src/reference/selector.h"

namespace draftmark::reference {
namespace {

// What stages show of values that are not stored as N::Storage.
template <typename T>
void Append(std::vector<double>& out, const std::vector<T>& values) {
  out.insert(out.end(), values.begin(), values.end());
}

}  // namespace

template <typename N>
BlockResult Tail<N>::Plain(const TailRows& rows) const {
  BlockResult result;
  for (std::size_t j = FirstDraftRow(); j < rows.width; ++j) {
    const auto row = rows.logits.subspan(j * config_.vocab_size, config_.vocab_size);
    result.draft_tokens.push_back(ArgMax<N>(row));
    result.margin.push_back(Margin<N>(row));
  }
  return result;
}

template <typename N>
BlockResult Tail<N>::Selector(const TailRows& rows, StageRecorder<N>& recorder) const {
  const SelectorWeights& w = weights_.selector;
  const std::size_t h = config_.hidden_size;
  const std::size_t rank = w.hidden_projection.rows();
  const std::size_t count = config_.selector_top_k;
  const std::size_t first = FirstDraftRow();
  const std::size_t drafts = rows.width - first;
  std::vector<Storage> hidden(drafts * rank);
  Linear<N>(rows.normed.subspan(first * h), drafts, w.hidden_projection, {}, hidden.data(), rank);
  recorder.Emit(rows.band, "selector.hidden_projection", {rank}, hidden);

  BlockResult result;
  std::vector<double> ids, unary, scores, gaps;
  std::uint32_t previous = rows.anchor;
  for (std::size_t t = 0; t < drafts; ++t) {
    const Candidates candidates =
        TopK<N>(rows.logits.subspan((first + t) * config_.vocab_size, config_.vocab_size), count);
    const std::vector<double> score = SelectorScores<N>(
        candidates, previous, std::span<const Storage>(hidden).subspan(t * rank, rank),
        w.predecessor, w.successor);
    // Greedy, not Viterbi; the smallest k wins a tie.
    const std::uint32_t best = ArgMax<ExactNumeric>(score);
    previous = candidates.ids[best];
    result.draft_tokens.push_back(previous);
    result.margin.push_back(Margin<ExactNumeric>(score));
    Append(ids, candidates.ids);
    Append(unary, candidates.values);
    Append(scores, score);
    gaps.push_back(candidates.gap);
  }
  recorder.EmitValues(rows.band, "selector.candidate_ids", {drafts, count}, ids);
  recorder.EmitValues(rows.band, "selector.unary", {drafts, count}, unary);
  recorder.EmitValues(rows.band, "selector.topk_gap", {drafts}, gaps);
  recorder.EmitValues(rows.band, "selector.scores", {drafts, count}, scores);
  return result;
}

template <typename N>
BlockResult Tail<N>::Markov(const TailRows& rows, StageRecorder<N>& recorder) const {
  const std::size_t vocabulary = config_.vocab_size;
  const std::size_t h = config_.hidden_size;
  const bool markov = weights_.markov.present();
  MarkovWalk<N> walk(weights_.markov);
  std::vector<Storage> logits(rows.logits.begin(), rows.logits.end());
  std::vector<Storage> confidence;
  BlockResult result;
  std::uint32_t previous = rows.anchor;
  for (std::size_t j = FirstDraftRow(); j < rows.width; ++j) {
    const std::span<Storage> row = std::span(logits).subspan(j * vocabulary, vocabulary);
    const std::span<const Storage> hidden = rows.normed.subspan(j * h, h);
    std::vector<Storage> embedding;
    if (markov) {
      embedding = walk.Embedding(previous);
      AddInPlace<N>(row, walk.Bias(embedding, hidden));
    }
    if (weights_.confidence.present()) {
      const std::span<const Storage> feature = config_.confidence_head_with_markov
                                                   ? std::span<const Storage>(embedding)
                                                   : std::span<const Storage>();
      confidence.push_back(ConfidenceLogit<N>(weights_.confidence, hidden, feature));
      result.confidence.push_back(N::Load(confidence.back()));
    }
    previous = ArgMax<N>(row);
    result.draft_tokens.push_back(previous);
    result.margin.push_back(Margin<N>(row));
  }
  recorder.Emit(rows.band, "markov.logits", {vocabulary}, logits);
  if (weights_.confidence.present()) {
    recorder.EmitValues(rows.band, "confidence_logits", {confidence.size()}, result.confidence);
  }
  return result;
}

template <typename N>
std::vector<BlockResult> Tail<N>::Run(std::span<const BandView> bands,
                                      std::span<const BlockRequest> requests,
                                      std::span<const Storage> stream,
                                      StageRecorder<N>& recorder) const {
  const std::size_t h = config_.hidden_size;
  const std::size_t vocabulary = config_.vocab_size;
  const std::size_t width = requests.front().tokens.size();
  const std::size_t count = requests.size() * width;
  std::vector<Storage> normed(count * h), logits(count * vocabulary);
  RmsNorm<N>(stream, count, h, weights_.norm.values(), config_.rms_norm_eps, normed);
  recorder.EmitRows("norm", {h}, bands, normed);
  // Multiplier, then softcap, on the unrounded accumulator (section 1.1).
  const double multiplier = config_.output_multiplier;
  const double cap = config_.final_logit_softcapping.value_or(0);
  Linear<N>(normed, count, weights_.lm_head, {}, logits.data(), vocabulary, [&](double z) {
    const double scaled = z * multiplier;
    return cap > 0 ? cap * std::tanh(scaled / cap) : scaled;
  });
  recorder.EmitRows("logits", {vocabulary}, bands, logits);

  std::vector<BlockResult> results;
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const TailRows tail = {
        bands[b].band, requests[b].tokens[0], width,
        std::span<const Storage>(normed).subspan(b * width * h, width * h),
        std::span<const Storage>(logits).subspan(b * width * vocabulary, width * vocabulary)};
    // The selector takes precedence.
    if (weights_.selector.present()) {
      results.push_back(Selector(tail, recorder));
    } else if (config_.kind == DrafterKind::kDspark || weights_.markov.present()) {
      results.push_back(Markov(tail, recorder));
    } else {
      results.push_back(Plain(tail));
    }
    std::vector<double> tokens;
    Append(tokens, results.back().draft_tokens);
    recorder.EmitValues(bands[b].band, "draft_tokens", {tokens.size()}, tokens);
    recorder.EmitValues(bands[b].band, "margin", {tokens.size()}, results.back().margin);
  }
  return results;
}

template class Tail<ExactNumeric>;
template class Tail<Bf16Numeric>;

}  // namespace draftmark::reference
