#include <fmt/format.h>

#include <cmath>

#include "conformance/mutants/check.h"
#include "conformance/mutants/histories.h"
#include "conformance/plain/tapped_stages.h"

namespace draftmark {
namespace {

// Behind a choice that may fall otherwise, or a difference of nearly equal numbers.
bool IsOfChoices(std::string_view stage) {
  return IsIdStage(stage) || stage == "margin" || stage == "selector.topk_gap" ||
         stage == "selector.unary" || stage == "selector.scores" || stage == "markov.logits" ||
         stage == "confidence_logits";
}

Status CompareStage(const std::string& where, const std::vector<double>& expected,
                    const std::vector<double>& found, double bound) {
  if (expected.size() != found.size()) {
    return InternalError(fmt::format("{}: shape: expected {} values, found {}", where,
                                     expected.size(), found.size()));
  }
  double square = 0;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    square += expected[i] * expected[i];
    difference += (expected[i] - found[i]) * (expected[i] - found[i]);
  }
  if (difference <= bound * bound * square) return OkStatus();  // false for NaN
  return InternalError(fmt::format("{}: relative L2 error {:.3g} exceeds {:.3g}", where,
                                   std::sqrt(difference / square), bound));
}

Status RunHistory(const History& history, const HistoryRule& rule, const OpenOnWeights& open) {
  plain::Recorder expected(rule.precision == Precision::kExact ? plain::Rounding::kNothing
                                                               : plain::Rounding::kBf16);
  DM_RETURN_IF_ERROR(plain::Run(history.config, *history.weights, history.bands,
                                {.float32_angles = rule.precision == Precision::kBf16}, expected));
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<DraftSession> session,
                      open(history.config, history.weights, history.limits));
  for (std::size_t s = 0; s < history.bands[0].size(); ++s) {
    DM_ASSIGN_OR_RETURN(const std::vector<BlockRequest> requests, EnterStep(history, s, *session));
    StageCollector collector;
    DM_RETURN_IF_ERROR(
        session->Propose(requests, &collector).status().Annotated(fmt::format("step{}", s)));
    for (std::size_t band = 0; band < history.bands.size(); ++band) {
      for (const std::string& stage : StagesInDataFlowOrder(history.config)) {
        const auto wanted = expected.values().find({s, band, stage});
        if (wanted == expected.values().end()) continue;
        if (rule.skip_choices && IsOfChoices(stage)) continue;
        const std::string where = fmt::format("step{}.band{}.{}", s, band, stage);
        const auto bands = collector.bands().find(band);
        if (bands == collector.bands().end() || !bands->second.contains(stage)) {
          return InternalError(where + ": missing");
        }
        DM_RETURN_IF_ERROR(
            CompareStage(where, wanted->second, bands->second.at(stage).values, rule.bound));
      }
    }
  }
  return OkStatus();
}

}  // namespace

void AddHistoryChecks(const HistoryRule& rule, const OpenOnWeights& open, Checks& checks) {
  for (const History& history : Histories()) {
    checks.push_back({"history/" + history.name, [=] { return RunHistory(history, rule, open); }});
  }
}

}  // namespace draftmark
