#include "conformance/diagnosis/stage_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/backend/stages.h"
#include "src/compare/tolerance.h"

namespace draftmark {

std::string_view AgreementName(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgrees:
      return "agrees";
    case Agreement::kAlternateRounding:
      return "agrees, with alternate rounding";
    case Agreement::kEndToEnd:
      return "agrees within the end-to-end bound";
    case Agreement::kOff:
      return "off";
  }
  return "";
}

namespace {

constexpr double kHalf = 0x1p-8;  // u of spec/drafter.md: half a spacing at 1

struct StageModel {
  ErrorModel single;     // T1 or T2
  ErrorModel alternate;  // T3
};

bool Is(std::string_view stage, std::string_view name) {
  return stage == name || (stage.size() > name.size() && stage.ends_with(name) &&
                           (stage[stage.size() - name.size() - 1] == '.' || name.starts_with('_')));
}

// Sums: how far they may lie follows from the sum of magnitudes. An engine that keeps more than
// BF16 and rounds when it dumps shows inputs that are half a spacing from what it used, so every
// sum may move by that share (T3).
StageModel SumModel(std::uint64_t reduction, double single_share, double alternate_share) {
  StageModel model{SingleRound(reduction),
                   AlternateRounding(2, std::max(alternate_share, 0.5 * kHalf))};
  model.single.accumulation += single_share;
  return model;
}

// A stage behind an intermediate result that is rounded but not shown (q and k before their norms,
// the gate of the MLP) inherits its rare other neighbour: one more spacing, or a share of the sum.
StageModel ModelOf(const DrafterConfig& c, std::string_view stage) {
  const auto is = [&](std::string_view name) { return Is(stage, name); };
  if (is("attn_out")) {
    StageModel model{AttentionModel(ProbabilityType::kF32), AttentionModel(ProbabilityType::kBf16)};
    // Queries that were turned with BF16 cos and sin move the scores as well as the probabilities'
    // own rounding does.
    model.alternate.value_share *= 2;
    return model;
  }
  if (is("k_new")) return SumModel(2, 0, 3 * kHalf);
  if (is("prepare") || is("finish"))
    return SumModel(std::max<std::uint64_t>(2, c.conv_kernel_size), 0, 5 * kHalf);
  if (is("mlp")) return SumModel(c.intermediate_size, 0x1p-12, kHalf);
  if (is("q_norm") || is("k_norm")) {
    StageModel model = SumModel(c.hidden_size, 0, kHalf);
    model.single.roundings = 2;
    return model;
  }
  if (stage == "logits") {
    StageModel model = SumModel(c.hidden_size, 0, 0);
    // Multiplier and softcap may act on the BF16 logit, with a rounding each.
    if (c.output_multiplier != 1 || c.final_logit_softcapping) model.alternate.roundings = 4;
    return model;
  }
  if (stage == "markov.logits") {
    return SumModel(2, kHalf, 2 * kHalf);  // the bias is a rounded term itself
  }
  if (stage == "confidence_logits") return SumModel(c.hidden_size, 0, 2 * kHalf);
  if (stage == "selector.scores") return SumModel(c.selector_rank, 0, 3 * kHalf);
  if (stage == "margin" || stage == "selector.topk_gap") return SumModel(2, 0, 2 * kHalf);
  if (stage == "fc") return SumModel(c.tap_width(), 0, 0);
  if (is("o_proj")) return SumModel(c.q_dim(), 0, 0);
  if (is("v_new") || is("dynamic") || stage == "selector.hidden_projection")
    return SumModel(c.hidden_size, 0, 0);
  if (is("output") || is("post_attention_layernorm")) return SumModel(0, 0, kHalf);
  return {SingleRound(), AlternateRounding(2)};
}

// T3 bounds the worst element. A chain of roundings also keeps the whole stage closer than this:
// PyTorch's BF16 runs reach 0.005 on one stage of the oracle cases.
constexpr double kAlternateRelativeError = 0.012;
// Too few elements for a mean to say anything.
constexpr std::size_t kFewElements = 64;

// T4.
constexpr double kEndToEndError = 2e-2;
constexpr double kEndToEndLogitError = 2.5e-2;

std::string Exceeds(const Comparison& comparison, std::uint64_t exceeding, std::string_view what) {
  return fmt::format("{} of {} elements are further off than {} (relative L2 error {:.3g})",
                     exceeding, comparison.elements, what, comparison.relative_l2);
}

void JudgeLocalValues(const DrafterConfig& config, const plain::Computed& computed,
                      const DumpedStage& dumped, StageFinding& finding) {
  const StageModel model = ModelOf(config, finding.id.stage);
  const double largest = computed.magnitude.empty() ? 0
                                                    : *std::max_element(computed.magnitude.begin(),
                                                                        computed.magnitude.end());
  const BoundedComparison single =
      CompareWithin(dumped.shape, computed.values, dumped.values,
                    Bounds(model.single, computed.values, computed.magnitude, largest));
  finding.comparison = single.comparison;
  finding.beyond_single = single.exceeding;
  if (single.passed()) return;
  const BoundedComparison alternate =
      CompareWithin(dumped.shape, computed.values, dumped.values,
                    Bounds(model.alternate, computed.values, computed.magnitude, largest));
  const bool close = dumped.values.size() < kFewElements ||
                     single.comparison.relative_l2 <= kAlternateRelativeError;
  finding.agreement = alternate.passed() && close ? Agreement::kAlternateRounding : Agreement::kOff;
  if (finding.agreement == Agreement::kOff) {
    finding.failure = Exceeds(single.comparison, single.exceeding,
                              "FP32 sums, one rounding or another published rounding chain can be");
  }
}

// Stages of few values that may cancel: an absolute bound from the magnitudes.
bool BoundedByMagnitude(std::string_view stage) {
  return stage == "confidence_logits" || stage == "selector.scores" || stage == "selector.topk_gap";
}

void JudgeEndToEnd(const plain::Computed& computed, const DumpedStage& dumped, double logit_bound,
                   StageFinding& finding) {
  const std::string& stage = finding.id.stage;
  finding.agreement = Agreement::kEndToEnd;
  finding.comparison = Compare(dumped.shape, computed.values, dumped.values, UlpUnit::kBf16);
  if (stage == "margin") return;  // follows the run's own path, which was not dumped
  if (BoundedByMagnitude(stage)) {
    const double slack = stage == "confidence_logits" ? 0 : 4 * logit_bound;
    std::uint64_t exceeding = 0;
    for (std::size_t i = 0; i < dumped.values.size(); ++i) {
      const double bound =
          (stage == "selector.topk_gap" ? 0 : 0x1p-6 * computed.magnitude[i]) + slack;
      if (!(std::abs(dumped.values[i] - computed.values[i]) <= bound)) ++exceeding;
    }
    if (exceeding == 0) return;
    finding.failure = Exceeds(finding.comparison, exceeding, "the end-to-end bound");
  } else {
    const bool logits = stage == "logits" || stage == "markov.logits" || stage == "selector.unary";
    const double bound = logits ? kEndToEndLogitError : kEndToEndError;
    if (finding.comparison.relative_l2 <= bound) return;
    finding.failure = fmt::format("relative L2 error {:.3g} exceeds the end-to-end bound {}",
                                  finding.comparison.relative_l2, bound);
  }
  finding.agreement = Agreement::kOff;
}

void JudgeCandidates(const plain::Computed& computed, const DumpedStage& dumped, double logit_bound,
                     StageFinding& finding) {
  if (computed.local && computed.values == dumped.values) return;
  const std::size_t count =
      computed.choices.empty() ? 0 : dumped.values.size() / computed.choices.size();
  // Candidates of equal logit may stand in any order, and those at the edge may differ by what
  // logits may.
  const double slack = computed.local ? 0 : 2 * logit_bound;
  for (std::size_t row = 0; row < computed.choices.size(); ++row) {
    const std::vector<double>& logits = computed.choices[row].scores;
    std::vector<bool> taken(logits.size(), false);
    double lowest = INFINITY;
    for (std::size_t k = 0; k < count; ++k) {
      lowest = std::min(lowest, logits[static_cast<std::size_t>(computed.values[row * count + k])]);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const auto id = static_cast<std::size_t>(dumped.values[row * count + k]);
      if (!taken[id] && logits[id] >= lowest - slack) {
        taken[id] = true;
        continue;
      }
      finding.agreement = Agreement::kOff;
      finding.failure = fmt::format(
          "draft {}: candidate {} is token {} with logit {:.6g}, {}", row, k, id, logits[id],
          taken[id] ? "which is there twice"
                    : fmt::format("but the {} highest end at {:.6g}", count, lowest));
      return;
    }
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (taken[id] || !(logits[id] > lowest + slack)) continue;
      finding.agreement = Agreement::kOff;
      finding.failure = fmt::format(
          "draft {}: token {} with logit {:.6g} is no candidate, but the {} highest end at {:.6g}",
          row, id, logits[id], count, lowest);
      return;
    }
  }
  finding.agreement = computed.local ? Agreement::kAlternateRounding : Agreement::kEndToEnd;
}

void JudgeTokens(const plain::Computed& computed, const DumpedStage& dumped, double logit_bound,
                 StageFinding& finding) {
  if (!computed.local) finding.agreement = Agreement::kEndToEnd;
  for (std::size_t d = 0; d < computed.choices.size(); ++d) {
    if (computed.values[d] == dumped.values[d]) continue;
    const plain::Choice& choice = computed.choices[d];
    const double best = *std::max_element(choice.scores.begin(), choice.scores.end());
    double score = -INFINITY;  // of the dumped token
    for (std::size_t k = 0; k < choice.scores.size(); ++k) {
      if (choice.ids.empty() ? k == dumped.values[d] : choice.ids[k] == dumped.values[d])
        score = choice.scores[k];
    }
    // Heads round what they add to a logit; the reference's selector does so in three places.
    const double slack = 2 * logit_bound + 3 * kHalf * choice.magnitude;
    if (!computed.local && best - score <= slack) continue;
    finding.agreement = Agreement::kOff;
    if (score == -INFINITY) {
      finding.failure = fmt::format("draft {}: token {} was no candidate; the rule gives {}", d,
                                    dumped.values[d], computed.values[d]);
    } else if (score == best) {
      finding.failure = fmt::format(
          "draft {}: token {} ties with {} at {:.6g}, and the lowest id wins (an engine that "
          "chooses before it rounds logits "
          "to BF16 looks so too)",
          d, dumped.values[d], computed.values[d], best);
    } else {
      finding.failure =
          fmt::format("draft {}: token {} has score {:.6g}, but the rule gives {} with {:.6g}", d,
                      dumped.values[d], score, computed.values[d], best);
    }
    return;
  }
}

}  // namespace

StageFinding JudgeDumpedStage(const DrafterConfig& config, const plain::StageId& id,
                              const plain::Computed& computed, const DumpedStage& dumped,
                              double logit_bound) {
  StageFinding finding;
  finding.id = id;
  finding.tensor = dumped.tensor;
  finding.local = computed.local;
  if (!dumped.defect.empty()) {
    finding.agreement = Agreement::kOff;
    finding.failure = dumped.defect;
  } else if (computed.values.size() != dumped.values.size()) {
    finding.agreement = Agreement::kOff;
    finding.failure =
        fmt::format("expected {} drafts, found {}", computed.values.size(), dumped.values.size());
  } else if (id.stage == "selector.candidate_ids") {
    JudgeCandidates(computed, dumped, logit_bound, finding);
  } else if (id.stage == "draft_tokens") {
    JudgeTokens(computed, dumped, logit_bound, finding);
  } else if (computed.local) {
    JudgeLocalValues(config, computed, dumped, finding);
  } else {
    JudgeEndToEnd(computed, dumped, logit_bound, finding);
  }
  return finding;
}

}  // namespace draftmark
