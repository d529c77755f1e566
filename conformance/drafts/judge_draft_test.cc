// The judge on what a draft chooses: its tokens, its heads, and cases that hold few stages.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "conformance/drafts/judge_testing.h"
#include "conformance/plain/forward.h"
#include "src/backend/stages.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

TEST(JudgeDraftTest, TokensThatFollowWrongLogitsFailByTheMargin) {
  // A spike in one logit moves the token with it: self-consistent, but float64 chose another one by
  // far.
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                          DrafterCase::Load(GoldenCase("dflash_yarn")));
  const ExpectedStage logits = Golden(drafter_case, "logits");
  const ExpectedStage tokens = Golden(drafter_case, "draft_tokens");
  TappedStages tapped;
  tapped["logits"] = {logits.shape, logits.values};
  tapped["draft_tokens"] = {tokens.shape, tokens.values};
  for (double& value : tapped["logits"].values) value = BFloat16::FromDouble(value).ToDouble();
  // The draft that float64 is surest of.
  const ExpectedStage margins = Golden(drafter_case, "margin");
  const auto draft = static_cast<std::size_t>(
      std::max_element(margins.values.begin(), margins.values.end()) - margins.values.begin());
  const std::size_t token = tokens.values[draft] == 9 ? 10 : 9;
  tapped["logits"].values[(draft + 1) * logits.shape[1] + token] = 128;
  tapped["draft_tokens"].values[draft] = static_cast<double>(token);
  DM_ASSERT_OK_AND_ASSIGN(const auto verdicts, JudgeStep(drafter_case, WeightsOf(drafter_case), 0,
                                                         Precision::kBf16, tapped, {}, {}));
  const StageVerdict& verdict = Find(verdicts, "step0.draft_tokens");
  EXPECT_THAT(verdict.failure, HasSubstr("but float64 chose"));
  EXPECT_EQ(verdict.Signature(), "step0.draft_tokens: oracle choice");
}

// Generated drafts record nothing of PyTorch's and hold few stages.

TEST(JudgeDraftTest, AFlippedTokenOfAGeneratedDraftIsAgainstFloat64) {
  const std::string draft = GoldenDraft("qwen3-4b-dflash");
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(draft));
  const ExpectedStage margins = Golden(drafter_case, "margin");
  const auto surest = static_cast<std::size_t>(
      std::max_element(margins.values.begin(), margins.values.end()) - margins.values.begin());
  const std::size_t vocabulary = drafter_case.config().vocab_size;
  std::size_t other = 0;
  // One logit moves up until it leads, and the token with it. The error of the run's own logits
  // grows as much, so that it must not say how sure float64 is.
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport report,
      RunTampered(draft, Precision::kBf16, Precision::kBf16,
                  [&](const std::string& stage, Shape&, std::vector<double>& values) {
                    if (stage == "logits") {
                      const std::span<double> row =
                          std::span(values).subspan((surest + 1) * vocabulary, vocabulary);
                      const auto best = std::max_element(row.begin(), row.end());
                      other = best == row.begin() ? 1 : 0;
                      row[other] = BFloat16::FromDouble(*best * 1.0625).ToDouble();
                    }
                    if (stage == "draft_tokens") values[surest] = static_cast<double>(other);
                  }));
  const StageVerdict& verdict = Find(report.verdicts, "step0.draft_tokens");
  EXPECT_EQ(verdict.kind, FailureKind::kOracleChoice) << verdict.failure;
  EXPECT_THAT(verdict.failure, HasSubstr("but float64 chose"));
}

TEST(JudgeDraftTest, AStageThatTheCaseDoesNotHoldIsJudgedAndRequired) {
  for (const char* name : {"qwen3-4b-dflash", "synthetic-half-of-head", "dspark-qwen3-4b-block7"}) {
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(GoldenDraft(name)));
    const std::string stage = LayerStage(drafter_case.config().num_hidden_layers / 2, "attn_out");
    DM_ASSERT_OK_AND_ASSIGN(const auto held, drafter_case.Expected(0, stage));
    ASSERT_FALSE(held.has_value()) << name;
    DM_ASSERT_OK_AND_ASSIGN(
        const CaseReport off,
        RunTampered(GoldenDraft(name), Precision::kBf16, Precision::kBf16,
                    [&](const std::string& shown, Shape&, std::vector<double>& values) {
                      if (shown != stage) return;
                      BFloat16 neighbour = BFloat16::FromDouble(values[values.size() / 2]);
                      ++neighbour.bits;
                      values[values.size() / 2] = neighbour.ToDouble();
                    }));
    EXPECT_EQ(off.Signature(), "step0." + stage + ": own stages") << name;
    DM_ASSERT_OK_AND_ASSIGN(
        const CaseReport missing,
        RunTampered(GoldenDraft(name), Precision::kBf16, Precision::kBf16,
                    [&](const std::string& shown, Shape& shape, std::vector<double>&) {
                      if (shown == stage) shape.clear();
                    }));
    EXPECT_EQ(missing.Signature(), "step0." + stage + ": missing") << name;
  }
}

TEST(JudgeDraftTest, BoundsOfAGeneratedDraftAreT4) {
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport report,
      RunTampered(GoldenDraft("qwen3-4b-dflash"), Precision::kBf16, Precision::kBf16, kNone));
  EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
  EXPECT_EQ(Find(report.verdicts, "step0.layers.0.output").bound, 0.02);
  EXPECT_EQ(Find(report.verdicts, "step0.layers.0.k_new").bound, 0.02);
  EXPECT_EQ(Find(report.verdicts, "step0.logits").bound, 0.025);
}

// The first failure of a run of the plain forward that makes `mistakes`, rounded as it should be.
StatusOr<std::string> FirstFailureOf(const std::string& name, std::set<plain::Mistake> mistakes,
                                     const Tamper& tamper) {
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(GoldenDraft(name)));
  const DrafterWeights weights = WeightsOf(drafter_case);
  plain::Recorder run(plain::Rounding::kBf16);
  plain::Options options;
  options.mistakes = std::move(mistakes);
  DM_RETURN_IF_ERROR(
      plain::Run(drafter_case.config(), weights, {drafter_case.steps()}, options, run));
  DM_ASSIGN_OR_RETURN(const auto oracle, LocalOracle::Open(drafter_case, weights, Precision::kBf16,
                                                           Accumulation::kFloat64));
  DM_ASSIGN_OR_RETURN(const auto bounds, BoundsOfSteps(drafter_case, weights));
  for (std::size_t step = 0; step < drafter_case.steps().size(); ++step) {
    TappedStages tapped;
    for (const auto& [id, values] : run.values()) {
      if (id.step != step) continue;
      TappedStage stage = {
          StageShape(drafter_case.config(), id.stage, drafter_case.steps()[step].new_context_rows,
                     drafter_case.gamma()),
          values};
      tamper(id.stage, stage.shape, stage.values);
      tapped[id.stage] = std::move(stage);
    }
    DM_ASSIGN_OR_RETURN(const auto verdicts,
                        JudgeStep(drafter_case, weights, step, Precision::kBf16, tapped,
                                  oracle->Step(step, tapped), bounds[step]));
    for (const StageVerdict& verdict : verdicts) {
      if (!verdict.passed()) return verdict.Signature();
    }
  }
  return std::string("passed");
}

std::string FailureOf(const std::string& name, std::set<plain::Mistake> mistakes,
                      const Tamper& tamper = kNone) {
  const StatusOr<std::string> failure = FirstFailureOf(name, std::move(mistakes), tamper);
  return failure.ok() ? *failure : failure.status().ToString();
}

TEST(JudgeDraftTest, MistakesOfHeadsAreNamedAtTheirStage) {
  using enum plain::Mistake;
  const char* const vanilla = "dspark-qwen3-4b-block7";
  for (const char* sound : {vanilla, "synthetic-gated-markov", "synthetic-rnn-markov"})
    EXPECT_EQ(FailureOf(sound, {}), "passed") << sound;
  for (const auto mistake :
       {kMarkovMissing, kMarkovRowZeroExempt, kMarkovPrevAnchor, kMarkovSwapped}) {
    EXPECT_EQ(FailureOf(vanilla, {mistake}), "step0.markov.logits: own stages")
        << plain::InfoOf(mistake).name;
  }
  EXPECT_EQ(FailureOf(vanilla, {kConfidenceOrder}), "step0.confidence_logits: own stages");
  EXPECT_EQ(FailureOf("synthetic-rnn-markov", {kRnnStateLost}), "step0.markov.logits: own stages");
  EXPECT_EQ(FailureOf("synthetic-gated-markov", {kMarkovPrevAnchor}),
            "step0.markov.logits: own stages");
}

TEST(JudgeDraftTest, AStaleConfidenceIsNamed) {
  // One row shows the previous row's; then a whole propose shows the previous one's.
  EXPECT_EQ(FailureOf("dspark-qwen3-4b-block7", {},
                      [](const std::string& stage, Shape&, std::vector<double>& values) {
                        if (stage == "confidence_logits") values[3] = values[2];
                      }),
            "step0.confidence_logits: own stages");
  std::vector<double> before;
  EXPECT_EQ(FailureOf("dspark-qwen3-4b-block7", {},
                      [&](const std::string& stage, Shape&, std::vector<double>& values) {
                        if (stage != "confidence_logits") return;
                        if (before.empty()) {
                          before = values;
                        } else {
                          values = before;
                        }
                      }),
            "step1.confidence_logits: own stages");
}

}  // namespace
}  // namespace draftmark
