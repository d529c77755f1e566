#include "conformance/diagnosis/stage_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/plain/stage_model.h"
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
  const plain::StageModel model = plain::ModelOf(config, finding.id.stage);
  const double largest = computed.magnitude.empty() ? 0
                                                    : *std::max_element(computed.magnitude.begin(),
                                                                        computed.magnitude.end());
  const BoundedComparison single = CompareWithin(
      dumped.shape, computed.values, dumped.values,
      Bounds(model.single, computed.values, computed.magnitude, largest, computed.largest));
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
    // Elements within the published chains may still be too many of them for one.
    finding.failure =
        alternate.passed()
            ? fmt::format(
                  "relative L2 error {:.3g} exceeds {:g}, which other published rounding "
                  "chains stay below",
                  single.comparison.relative_l2, kAlternateRelativeError)
            : Exceeds(single.comparison, alternate.exceeding,
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
    const double slack = 2 * logit_bound + 3 * plain::kBf16Half * choice.magnitude;
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
