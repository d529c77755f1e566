#include "conformance/drafts/token_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace draftmark {
namespace {

using Rows = std::span<const double>;

// Index of the greatest value by the tie rule: the lowest index wins, NaN never, nothing above
// -1e30 gives 0.
std::size_t TieRule(Rows values) {
  std::size_t best = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > -1e30)) continue;
    if (best == values.size() || values[i] > values[best]) best = i;
  }
  return best == values.size() ? 0 : best;
}

// One step under judgement: the run's stages and float64's, by row.
class TokenCheck {
 public:
  TokenCheck(const DrafterCase& drafter_case, const DrafterWeights& weights, std::size_t step,
             const TappedStages& tapped, double bound)
      : case_(drafter_case), weights_(weights), step_(step), tapped_(tapped), bound_(bound) {}

  StatusOr<std::string> Run() {
    const DrafterConfig& config = case_.config();
    first_row_ = config.row_convention == RowConvention::kInPlace ? 1 : 0;
    drafts_ = config.drafts(Width());
    for (const char* stage : {"draft_tokens", "margin"}) {
      DM_RETURN_IF_ERROR(LoadExpected(stage));
    }
    if (!Has("draft_tokens", drafts_) || !Has("logits", Width() * config.vocab_size)) {
      return std::string(
          "tokens and logits of the expected size were not tapped, so tokens cannot be recomputed");
    }
    switch (config.kind) {
      case DrafterKind::kDflash:
        return CheckPlain();
      case DrafterKind::kDspark:
        return CheckMarkov();
      case DrafterKind::kDflash2:
        return CheckSelector();
    }
    return std::string("unknown drafter kind");
  }

  // Drafts on which float64 was sure enough to fix the token.
  std::size_t decided() const { return decided_; }
  bool against_oracle() const { return against_oracle_; }

 private:
  std::size_t Width() const { return case_.steps()[step_].block_tokens.size(); }
  Status LoadExpected(const std::string& stage) {
    DM_ASSIGN_OR_RETURN(std::optional<ExpectedStage> expected, case_.Expected(step_, stage));
    if (expected) expected_[stage] = std::move(expected->values);
    return OkStatus();
  }
  bool Has(std::string_view stage, std::size_t count) const {
    const auto found = tapped_.find(stage);
    return found != tapped_.end() && found->second.values.size() == count;
  }
  // Row `row` of a tapped stage with rows of `width` values.
  Rows Tapped(std::string_view stage, std::size_t row, std::size_t width) const {
    return Rows(tapped_.find(stage)->second.values).subspan(row * width, width);
  }
  Rows Logits(std::size_t draft) const {
    return Tapped("logits", first_row_ + draft, case_.config().vocab_size);
  }
  double Token(std::size_t draft) const {
    return tapped_.find("draft_tokens")->second.values[draft];
  }
  // Whether the case holds what the float64 path needs.
  bool HasExpected(std::initializer_list<const char*> stages) const {
    return std::all_of(stages.begin(), stages.end(),
                       [&](const char* stage) { return expected_.contains(stage); });
  }
  // Float64's token before draft `draft` on its own path.
  std::size_t ForcedPrevious(std::size_t draft) const {
    return draft == 0 ? case_.steps()[step_].block_tokens[0]
                      : static_cast<std::size_t>(expected_.at("draft_tokens")[draft - 1]);
  }

  std::string NotOwnChoice(std::size_t draft, std::size_t own, std::string_view of) const {
    return fmt::format("draft {}: token {} is not the argmax of the run's own {}, which is {}",
                       draft, Token(draft), of, own);
  }
  // Empty if `choice`, made on float64's path, is float64's or float64 was not sure.
  std::string AgainstFloat64(std::size_t draft, std::size_t choice, double tolerance) {
    const auto tokens = expected_.find("draft_tokens");
    const auto margins = expected_.find("margin");
    if (tokens == expected_.end()) return "";
    const double margin = margins == expected_.end() ? INFINITY : margins->second[draft];
    if (margin <= tolerance) return "";
    ++decided_;
    if (static_cast<double>(choice) == tokens->second[draft]) return "";
    against_oracle_ = true;
    return fmt::format("draft {}: token {}, but float64 chose {} with margin {:.6g} above {:.6g}",
                       draft, choice, tokens->second[draft], margin, tolerance);
  }

  std::string CheckPlain() {
    for (std::size_t d = 0; d < drafts_; ++d) {
      const std::size_t own = TieRule(Logits(d));
      if (static_cast<double>(own) != Token(d)) return NotOwnChoice(d, own, "logits");
      if (std::string wrong = AgainstFloat64(d, own, 2 * bound_); !wrong.empty()) return wrong;
    }
    return "";
  }

  std::string CheckMarkov() {
    const std::size_t vocabulary = case_.config().vocab_size;
    if (!Has("markov.logits", Width() * vocabulary))
      return "the stage markov.logits was not tapped";
    for (std::size_t d = 0; d < drafts_; ++d) {
      const std::size_t own = TieRule(Tapped("markov.logits", first_row_ + d, vocabulary));
      if (static_cast<double>(own) != Token(d)) return NotOwnChoice(d, own, "biased logits");
      // Gated and recurrent heads read hidden rows too, whose error B does not cover.
      if (weights_.markov.type != MarkovType::kVanilla || !HasExpected({"draft_tokens"})) continue;
      std::vector<double> forced(vocabulary);
      for (std::size_t v = 0; v < vocabulary; ++v)
        forced[v] = Logits(d)[v] + MarkovBias(ForcedPrevious(d), v);
      if (std::string wrong = AgainstFloat64(d, TieRule(forced), 2 * bound_); !wrong.empty())
        return wrong;
    }
    return "";
  }

  // The vanilla bias of token `v` after `previous`, unrounded. 0 without a head.
  double MarkovBias(std::size_t previous, std::size_t v) const {
    if (!weights_.markov.present()) return 0;
    double sum = 0;
    for (std::size_t r = 0; r < weights_.markov.w1.cols(); ++r) {
      sum +=
          weights_.markov.w1.row(previous)[r].ToDouble() * weights_.markov.w2.row(v)[r].ToDouble();
    }
    return sum;
  }

  StatusOr<std::string> CheckSelector() {
    const std::size_t count = case_.config().selector_top_k;
    const std::size_t rank = weights_.selector.hidden_projection.rows();
    for (const char* stage : {"selector.candidate_ids", "selector.unary", "selector.scores"}) {
      DM_RETURN_IF_ERROR(LoadExpected(stage));
      if (!Has(stage, drafts_ * count)) return fmt::format("the stage {} was not tapped", stage);
    }
    DM_RETURN_IF_ERROR(LoadExpected("selector.topk_gap"));
    if (!Has("selector.hidden_projection", drafts_ * rank)) {
      return std::string("the stage selector.hidden_projection was not tapped");
    }
    std::size_t previous = case_.steps()[step_].block_tokens[0];
    for (std::size_t d = 0; d < drafts_; ++d) {
      const Rows ids = Tapped("selector.candidate_ids", d, count);
      const Rows scores = Tapped("selector.scores", d, count);
      if (std::string wrong = CheckCandidates(d, ids); !wrong.empty()) return wrong;
      for (std::size_t k = 0; k < count; ++k) {
        const auto [score, scale] = Score(d, previous, static_cast<std::size_t>(ids[k]));
        // FP32 sums of `rank` products: a few units of 2^-24 per term, far below any BF16 step.
        if (!(std::abs(scores[k] - score) <= std::ldexp(scale, -18))) {
          return fmt::format(
              "draft {}: score of candidate {} (token {}) is {:.9g}, recomputed after token {} "
              "{:.9g}",
              d, k, ids[k], scores[k], previous, score);
        }
      }
      const auto own = static_cast<std::size_t>(ids[TieRule(scores)]);
      if (static_cast<double>(own) != Token(d)) return NotOwnChoice(d, own, "selector scores");
      if (HasExpected(
              {"draft_tokens", "selector.candidate_ids", "selector.unary", "selector.scores"})) {
        if (std::string wrong = CheckForcedChoice(d, ids); !wrong.empty()) return wrong;
      }
      previous = own;
    }
    return std::string();
  }

  // Candidates are exactly the greatest logits of the run's own row, and float64's where the 17th
  // is far enough.
  std::string CheckCandidates(std::size_t draft, Rows ids) {
    const Rows logits = Logits(draft);
    const Rows unary = Tapped("selector.unary", draft, ids.size());
    std::vector<std::size_t> order(logits.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (static_cast<double>(order[k]) != ids[k] || logits[order[k]] != unary[k]) {
        return fmt::format(
            "draft {}: candidate {} is token {} with logit {:.9g}, but the run's own logits rank "
            "token {} "
            "with {:.9g} there",
            draft, k, ids[k], unary[k], order[k], logits[order[k]]);
      }
    }
    const auto gap = expected_.find("selector.topk_gap");
    if (gap == expected_.end() || gap->second[draft] <= 2 * bound_ ||
        !HasExpected({"selector.candidate_ids"})) {
      return "";
    }
    const Rows oracle =
        Rows(expected_.at("selector.candidate_ids")).subspan(draft * ids.size(), ids.size());
    if (std::set<double>(ids.begin(), ids.end()) !=
        std::set<double>(oracle.begin(), oracle.end())) {
      against_oracle_ = true;
      return fmt::format(
          "draft {}: the candidates are not float64's, although its 16th logit leads the 17th by "
          "{:.6g}",
          draft, gap->second[draft]);
    }
    return "";
  }

  // U + sum of predecessor * H * successor, and the sum of the terms' magnitudes.
  std::pair<double, double> Score(std::size_t draft, std::size_t previous,
                                  std::size_t token) const {
    const SelectorWeights& w = weights_.selector;
    const std::size_t rank = w.hidden_projection.rows();
    const Rows hidden = Tapped("selector.hidden_projection", draft, rank);
    double score = Logits(draft)[token];
    double scale = std::abs(score);
    for (std::size_t r = 0; r < rank; ++r) {
      const double term = w.predecessor.row(previous)[r].ToDouble() * hidden[r] *
                          w.successor.row(token)[r].ToDouble();
      score += term;
      scale += std::abs(term);
    }
    return {score, scale};
  }

  std::string CheckForcedChoice(std::size_t draft, Rows ids) {
    std::vector<double> forced;
    for (const double id : ids) {
      forced.push_back(Score(draft, ForcedPrevious(draft), static_cast<std::size_t>(id)).first);
    }
    const auto choice = static_cast<std::size_t>(ids[TieRule(forced)]);
    // Where the 17th logit is near, float64's token may have left this run's candidates, or another one entered.
    const auto gap = expected_.find("selector.topk_gap");
    const Rows oracle =
        Rows(expected_.at("selector.candidate_ids")).subspan(draft * ids.size(), ids.size());
    const auto among = [](Rows values, double id) {
      return std::find(values.begin(), values.end(), id) != values.end();
    };
    if (gap != expected_.end() && gap->second[draft] <= 2 * bound_ &&
        (!among(ids, expected_.at("draft_tokens")[draft]) ||
         !among(oracle, static_cast<double>(choice)))) {
      return "";
    }
    // The bilinear term carries the rounding of H on top of the logits' error: how much, the
    // oracle's own candidates say.
    const Rows oracle_ids =
        Rows(expected_.at("selector.candidate_ids")).subspan(draft * ids.size(), ids.size());
    const Rows oracle_unary =
        Rows(expected_.at("selector.unary")).subspan(draft * ids.size(), ids.size());
    const Rows oracle_scores =
        Rows(expected_.at("selector.scores")).subspan(draft * ids.size(), ids.size());
    double term_error = 0;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const auto id = static_cast<std::size_t>(oracle_ids[k]);
      const double own_term = Score(draft, ForcedPrevious(draft), id).first - Logits(draft)[id];
      term_error = std::max(term_error, std::abs(own_term - (oracle_scores[k] - oracle_unary[k])));
    }
    return AgainstFloat64(draft, choice, 2 * (bound_ + term_error));
  }

  const DrafterCase& case_;
  const DrafterWeights& weights_;
  const std::size_t step_;
  const TappedStages& tapped_;
  const double bound_;
  std::size_t first_row_ = 0;
  std::size_t drafts_ = 0;
  std::size_t decided_ = 0;
  bool against_oracle_ = false;
  std::map<std::string, std::vector<double>> expected_;
};

}  // namespace

StatusOr<TokenFindings> CheckBf16Tokens(const DrafterCase& drafter_case,
                                        const DrafterWeights& weights, std::size_t step,
                                        const TappedStages& tapped, double logit_bound) {
  TokenCheck check(drafter_case, weights, step, tapped, logit_bound);
  TokenFindings findings;
  DM_ASSIGN_OR_RETURN(findings.failure, check.Run());
  findings.decided = check.decided();
  findings.against_oracle = check.against_oracle();
  return findings;
}

}  // namespace draftmark
