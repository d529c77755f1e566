// The tail up to the logits, and the plain head.
#include <algorithm>
#include <cmath>

#include "conformance/plain/state.h"

namespace draftmark::plain {

using enum Mistake;

Forward::DraftRows Forward::Drafts() const {
  const std::size_t rows = width();
  if (config_.row_convention == RowConvention::kInPlace) {
    if (Makes(kRowZeroUsed)) return {0, rows - 1};
    return {1, rows - 1};
  }
  if (Makes(kRowZeroDropped)) return {1, rows - 1};
  if (Makes(kRowsRotated)) return {0, rows - 1};
  return {0, rows};
}

std::span<const double> Forward::LogitsOf(std::size_t row) const {
  return std::span(states_[band_].logits.values)
      .subspan(row * config_.vocab_size, config_.vocab_size);
}

std::span<const double> Forward::HiddenOf(std::size_t row) const {
  return std::span(states_[band_].norm.values)
      .subspan(row * config_.hidden_size, config_.hidden_size);
}

std::size_t Forward::Choose(std::span<const double> scores) const {
  const std::size_t best = ArgMax(scores);
  std::size_t chosen = best;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] != scores[best]) continue;
    if (Makes(kTieLastId)) chosen = i;
    if (Makes(kTieModulo1024) && i % 1024 < chosen % 1024) chosen = i;
  }
  return chosen;
}

std::uint32_t Forward::Chosen(std::size_t draft, std::uint32_t computed) const {
  const std::vector<double>* const own = Peek("draft_tokens");
  return own != nullptr && draft < own->size() ? static_cast<std::uint32_t>((*own)[draft])
                                               : computed;
}

std::uint32_t Forward::Anchor() const {
  return Makes(kBandZeroAnchor) ? CallOfBandZero().block_tokens[0] : call().block_tokens[0];
}

// Tokens, and by how much each led: the last stages of every head.
void Forward::EmitTokens(std::vector<Choice> choices, bool local,
                         const std::vector<Choice>* margins) {
  Terms tokens, leads;
  for (const Choice& choice : choices) {
    const std::size_t best = Choose(choice.scores);
    tokens.values.push_back(choice.ids.empty() ? static_cast<double>(best) : choice.ids[best]);
  }
  for (const Choice& choice : margins != nullptr ? *margins : choices) {
    const std::size_t best = Choose(choice.scores);
    double second = -INFINITY;
    for (std::size_t i = 0; i < choice.scores.size(); ++i) {
      if (i != best) second = std::max(second, choice.scores[i]);
    }
    leads.values.push_back(choice.scores[best] - second);
    leads.magnitude.push_back(std::abs(choice.scores[best]) + std::abs(second));
  }
  tokens.magnitude.assign(tokens.values.size(), 0);
  Emit("draft_tokens", std::move(tokens), local, std::move(choices));
  Emit("margin", std::move(leads), local);
}

void Forward::PlainHead() {
  std::vector<Choice> choices;
  const DraftRows drafts = Drafts();
  for (std::size_t d = 0; d < drafts.count; ++d) {
    const std::span<const double> row = LogitsOf(drafts.first + d);
    choices.push_back({{}, {row.begin(), row.end()}, 0});
  }
  EmitTokens(std::move(choices), state().logits.given);
}

// The entries that the destructive top-k of the selector sets to -1e30.
void Forward::OverwriteTopK(Given& logits, const std::vector<double>& before) {
  constexpr double kOverwritten = -1e30;
  const std::size_t vocabulary = config_.vocab_size;
  if (Makes(kLogitsAfterTopK)) {
    // What the selector saw is what was there before.
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (logits.values[i] <= kOverwritten * 0.99) logits.values[i] = hook_.Round(before[i]);
    }
  }
  state().candidates.resize(width());
  for (std::size_t row = 0; row < width(); ++row) {
    state().candidates[row] =
        TopK(std::span(logits.values).subspan(row * vocabulary, vocabulary), config_.selector_top_k)
            .ids;
  }
}

// Which entries of a row the destructive top-k took: those at -1e30 in the run's own logits, if
// they may be the highest (which ones come last is a matter of rounding); else the highest here.
std::vector<std::uint32_t> Forward::Overwritten(std::size_t row,
                                                std::span<const double> logits) const {
  const std::size_t top = config_.selector_top_k;
  std::vector<std::uint32_t> highest = TopK(Rounded({logits.begin(), logits.end()}), 2 * top).ids;
  const std::vector<double>* const own = Peek("logits");
  std::vector<std::uint32_t> taken;
  for (std::size_t v = 0; own != nullptr && v < logits.size(); ++v) {
    if ((*own)[row * logits.size() + v] <= -0.99e30) taken.push_back(static_cast<std::uint32_t>(v));
  }
  const bool plausible =
      taken.size() == top && std::all_of(taken.begin(), taken.end(), [&](std::uint32_t id) {
        return std::find(highest.begin(), highest.end(), id) != highest.end();
      });
  if (plausible) return taken;
  highest.resize(top);
  return highest;
}

void Forward::Tail(const Given& stream) {
  const std::size_t h = config_.hidden_size;
  const std::size_t vocabulary = config_.vocab_size;
  Terms normed = Norm(stream.values, h, weights_.norm);
  if (Makes(kFinalNormMissing)) {
    normed.values = stream.values;
    for (std::size_t i = 0; i < normed.values.size(); ++i)
      normed.magnitude[i] = std::abs(normed.values[i]);
  }
  state().norm = Emit("norm", std::move(normed), stream.given);
  Terms logits = Linear(state().norm.values, weights_.lm_head);
  const double multiplier = Makes(kMultiplierMissing) ? 1 : config_.output_multiplier;
  const double cap = Makes(kSoftcapMissing) ? 0 : config_.final_logit_softcapping.value_or(0);
  const auto capped = [&](double z) { return cap > 0 ? cap * std::tanh(z / cap) : z; };
  for (std::size_t i = 0; i < logits.values.size(); ++i) {
    double& z = logits.values[i];
    z = Makes(kSoftcapFirst) ? multiplier * capped(z) : capped(multiplier * z);
    logits.magnitude[i] *= std::abs(multiplier);  // the cap's slope is at most 1
  }
  bool local = state().norm.given;
  if (Makes(kBandZeroLogits) && LaterBand() &&
      states_[0].logits.values.size() == logits.values.size()) {
    logits.values = states_[0].logits.values;
    local = states_[0].logits.given;
  }
  const std::vector<double> before = logits.values;
  const DraftRows drafts = Drafts();
  for (std::size_t row = drafts.first; row < drafts.first + drafts.count; ++row) {
    std::span<double> values = std::span(logits.values).subspan(row * vocabulary, vocabulary);
    if (Makes(kLogitsAfterTopK)) {
      for (const std::uint32_t id : Overwritten(row, values)) values[id] = -1e30;
    }
    if (Makes(kLogitsStaleTopK) && Later() && row < state().candidates.size()) {
      for (const std::uint32_t id : state().candidates[row]) values[id] = -1e30;
    }
  }
  state().logits = Emit("logits", std::move(logits), local);
  if (weights_.selector.present()) {
    OverwriteTopK(state().logits, before);
    SelectorHead();
  } else if (config_.kind == DrafterKind::kDspark || weights_.markov.present()) {
    MarkovHead();
  } else {
    PlainHead();
  }
}

}  // namespace draftmark::plain
