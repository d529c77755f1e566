#include "src/reference/tail.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/faults/fault.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"
#include "src/reference/markov.h"
#include "src/reference/mistaken.h"
#include "src/reference/selector.h"

namespace draftmark::reference {
namespace {

// What stages show of values that are not stored as N::Storage.
template <typename Range>
void Append(std::vector<double>& out, const Range& values) {
  out.insert(out.end(), values.begin(), values.end());
}

}  // namespace

template <typename N>
void Tail<N>::Plain(std::size_t first, std::size_t width, BlockResult& result) {
  // Every row's argmax, also the one that is no draft.
  for (std::size_t j = 0; j < width; ++j) {
    const std::span<const Storage> row = LogitsOf(first + j);
    storage_.buffers().draft_tokens_dev[first + j] = ArgMax<N>(row);
    if (j >= FirstDraftRow()) result.margin.push_back(Margin<N>(row));
  }
}

template <typename N>
void Tail<N>::Selector(std::size_t band, std::size_t first, std::size_t width,
                       StageRecorder<N>& recorder, BlockResult& result) {
  StageBuffers<N>& b = storage_.buffers();
  const SelectorWeights& w = weights_.selector;
  const std::size_t rank = w.hidden_projection.rows();
  const std::size_t count = config_.selector_top_k;
  const std::size_t skipped = FirstDraftRow();
  const std::size_t drafts = width - skipped;
  Storage* const hidden = b.sel_hproj + first * rank;
  Linear<N>({HiddenOf(first).data(), width * config_.hidden_size}, width, w.hidden_projection, {},
            hidden, rank);
  recorder.Emit(band, "selector.hidden_projection", {rank},
                {hidden + skipped * rank, drafts * rank});

  std::vector<double> ids, unary, scores, gaps;
  std::uint32_t previous = b.draft_tokens_dev[first];  // the anchor, which stays in its slot
  for (std::size_t j = skipped; j < width; ++j) {
    const std::size_t row = first + j;
    const Candidates candidates = TopK<N>(LogitsOf(row), count);
    for (std::size_t k = 0; k < count; ++k) {
      b.sel_vals[row * count + k] = static_cast<typename N::Unary>(candidates.values[k]);
      b.sel_idx[row * count + k] = candidates.ids[k];
    }
    const std::vector<double> score = SelectorScores<N>(
        candidates, previous, {hidden + j * rank, rank}, w.predecessor, w.successor);
    previous = ChooseCandidate(candidates, score);
    if (DM_FAULT(kSelectorArgMax)) previous = candidates.ids.front();
    if (DM_FAULT(kSelectorViterbi)) {
      previous = ViterbiChoice<N>(w, candidates, score,
                                  {LogitsOf(row).data(), (width - j) * config_.vocab_size},
                                  {hidden + j * rank, (width - j) * rank});
    }
    b.draft_tokens_dev[row] = previous;
    if (DM_FAULT(kLogitsLeftOverwritten)) {
      for (const std::uint32_t id : candidates.ids) LogitsOf(row)[id] = N::Store(kNoCandidate);
    }
    result.margin.push_back(Margin<ExactNumeric>(score));
    Append(ids, candidates.ids);
    Append(unary, candidates.values);
    Append(scores, score);
    gaps.push_back(candidates.gap);
  }
  recorder.EmitValues(band, "selector.candidate_ids", {drafts, count}, ids);
  recorder.EmitValues(band, "selector.unary", {drafts, count}, unary);
  recorder.EmitValues(band, "selector.topk_gap", {drafts}, gaps);
  recorder.EmitValues(band, "selector.scores", {drafts, count}, scores);
}

template <typename N>
void Tail<N>::Markov(std::size_t band, std::size_t first, std::size_t width,
                     StageRecorder<N>& recorder, BlockResult& result) {
  StageBuffers<N>& b = storage_.buffers();
  const std::size_t vocabulary = config_.vocab_size;
  const std::size_t rank = weights_.markov.w1.cols();
  const bool markov = weights_.markov.present();
  MarkovWalk<N> walk(weights_.markov);
  std::uint32_t previous = b.draft_tokens_dev[first];  // read before row 0's argmax overwrites it
  for (std::size_t j = FirstDraftRow(); j < width; ++j) {
    const std::span<Storage> row = LogitsOf(first + j);
    const std::uint32_t unbiased = DM_FAULT(kMarkovPrevUnbiased) ? ArgMax<N>(row) : 0;
    if (markov) {
      walk.Gather(previous, {b.markov_embed, rank});
      walk.Bias({b.markov_embed, rank}, HiddenOf(first + j), {b.markov_bias, vocabulary});
      AddInPlace<N>(row, {b.markov_bias, vocabulary});
    }
    if (weights_.confidence.present() && !(DM_FAULT(kConfidenceStale) && j + 1 == width)) {
      const std::size_t feature = config_.confidence_head_with_markov ? rank : 0;
      b.conf_out[j] =
          ConfidenceLogit<N>(weights_.confidence, HiddenOf(first + j), {b.markov_embed, feature});
    }
    previous = ArgMax<N>(row);
    b.draft_tokens_dev[first + j] = previous;
    if (DM_FAULT(kMarkovPrevUnbiased)) previous = unbiased;
    result.margin.push_back(Margin<N>(row));
  }
  recorder.Emit(band, "markov.logits", {vocabulary}, {LogitsOf(first).data(), width * vocabulary});
  if (weights_.confidence.present()) {
    // conf_out has room for one band: it is read back before the next one runs.
    for (std::size_t j = FirstDraftRow(); j < width; ++j)
      result.confidence.push_back(N::Load(b.conf_out[j]));
    recorder.EmitValues(band, "confidence_logits", {result.confidence.size()}, result.confidence);
  }
}

template <typename N>
StatusOr<std::vector<BlockResult>> Tail<N>::Run(std::span<const BandView> bands, std::size_t width,
                                                std::size_t first_row, StageRecorder<N>& recorder) {
  StageBuffers<N>& b = storage_.buffers();
  const std::size_t h = config_.hidden_size;
  const std::size_t vocabulary = config_.vocab_size;
  const std::size_t rows = bands.size() * width;
  // The normed rows move to the front: everything after this is [bands * width].
  RmsNorm<N>({b.stream_buf + first_row * h, rows * h}, rows, h, weights_.norm.values(),
             config_.rms_norm_eps, {b.norm_buf, rows * h});
  recorder.EmitRows("norm", {h}, bands, {b.norm_buf, rows * h});
  // Multiplier, then softcap, on the unrounded accumulator (section 1.1).
  const double multiplier = config_.output_multiplier;
  const double cap = config_.final_logit_softcapping.value_or(0);
  std::vector<Storage> before;
  if (DM_FAULT(kLogitsLeftOverwritten)) before.assign(b.logits, b.logits + rows * vocabulary);
  const std::size_t head_rows = DM_FAULT(kOneBandOfLogits) ? width : rows;
  Linear<N>({b.norm_buf, head_rows * h}, head_rows, weights_.lm_head, {}, b.logits, vocabulary,
            [&](double z) { return CappedLogit(z, multiplier, cap); });
  // The mutant's head skips what the destructive top-16 of the propose before has marked.
  for (std::size_t i = 0; DM_FAULT(kLogitsLeftOverwritten) && i < before.size(); ++i) {
    if (N::Load(before[i]) == N::Load(N::Store(kNoCandidate))) b.logits[i] = before[i];
  }
  recorder.EmitRows("logits", {vocabulary}, bands, {b.logits, rows * vocabulary});

  std::vector<BlockResult> results(bands.size());
  for (std::size_t i = 0; i < bands.size(); ++i) {
    // The selector takes precedence.
    if (weights_.selector.present()) {
      Selector(bands[i].band, i * width, width, recorder, results[i]);
    } else if (config_.kind == DrafterKind::kDspark || weights_.markov.present()) {
      Markov(bands[i].band, i * width, width, recorder, results[i]);
    } else {
      Plain(i * width, width, results[i]);
    }
  }
  DM_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> tokens, storage_.FetchTokens(rows));
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(i * width);
    results[i].draft_tokens.assign(begin + static_cast<std::ptrdiff_t>(FirstDraftRow()),
                                   begin + static_cast<std::ptrdiff_t>(width));
    if (DM_FAULT(kRowZeroUsed) && FirstDraftRow() == 1) {
      results[i].draft_tokens.assign(begin, begin + static_cast<std::ptrdiff_t>(width - 1));
    }
    if (DM_FAULT(kRowZeroDropped) && FirstDraftRow() == 0) {
      results[i].draft_tokens.erase(results[i].draft_tokens.begin());
    }
    std::vector<double> shown;
    Append(shown, results[i].draft_tokens);
    recorder.EmitValues(bands[i].band, "draft_tokens", {shown.size()}, shown);
    recorder.EmitValues(bands[i].band, "margin", {shown.size()}, results[i].margin);
  }
  return results;
}

template class Tail<ExactNumeric>;
template class Tail<Bf16Numeric>;

}  // namespace draftmark::reference
