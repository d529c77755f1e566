// The walks' rules on sound runs with one mistake planted. The cases with walks lie beside the
// checkout, not in golden/: without them these tests are skipped.
#include "conformance/drafts/token_rules.h"

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TokenRulesTest : public ::testing::Test {
 protected:
  // Runs the first step of a case in BF16 and keeps its stages; false if the case is not there.
  bool Run(const std::string& name) {
    const std::string directory = ExternalRunfiles("oracle_cases", "cases/drafter/") + name;
    if (FindDrafterCases(directory).empty()) return false;
    case_.emplace(DrafterCase::Load(directory).value());
    weights_ = LoadDrafterWeights(case_->config(), case_->checkpoint()).value();
    SessionLimits limits;
    limits.max_context = case_->largest_context();
    limits.ctx_window = 64;
    limits.gamma = case_->gamma();
    const auto session = OpenReferenceForCase(*case_, limits, Precision::kBf16).value();
    const CaseStep& step = case_->steps()[0];
    std::vector<std::int32_t> positions(step.new_context_rows);
    std::iota(positions.begin(), positions.end(), 0);
    EXPECT_THAT(session->AppendContext(0, step.target_hidden, positions), IsOk());
    StageCollector collector;
    const BlockRequest request = {0, step.block_tokens, step.start};
    EXPECT_THAT(session->Propose({&request, 1}, &collector), IsOk());
    tapped_ = collector.band();
    bound_ = 1.5 * case_->TorchMaxLogitError(0).value().value();
    return true;
  }
  std::string Check() {
    return CheckBf16Tokens(*case_, weights_, 0, tapped_, bound_).value().failure;
  }
  double& Value(const std::string& stage, std::size_t row, std::size_t width, std::size_t column) {
    return tapped_[stage].values[row * width + column];
  }

  std::optional<DrafterCase> case_;
  DrafterWeights weights_;
  TappedStages tapped_;
  double bound_ = 0;
};

#define RUN_OR_SKIP(name)                                      \
  if (!Run(name)) {                                            \
    GTEST_SKIP() << "no ../shared/cases beside this checkout"; \
  }                                                            \
  EXPECT_THAT(Check(), IsEmpty())

TEST_F(TokenRulesTest, MarkovTokenThatIsNotTheBiasedArgmax) {
  RUN_OR_SKIP("dspark_markov_conf");
  tapped_["draft_tokens"].values[3] += 1;
  EXPECT_THAT(Check(), HasSubstr("draft 3: token"));
}

TEST_F(TokenRulesTest, SelectorTokenThatIsNotTheBestScore) {
  RUN_OR_SKIP("dflash2_base");
  // The independent argmax instead of the walk, in the first row where they differ.
  for (std::size_t d = 0; d < tapped_["draft_tokens"].values.size(); ++d) {
    const double first = Value("selector.candidate_ids", d, 16, 0);
    if (tapped_["draft_tokens"].values[d] == first) continue;
    tapped_["draft_tokens"].values[d] = first;
    EXPECT_THAT(Check(), HasSubstr("not the argmax of the run's own selector scores"));
    return;
  }
  FAIL() << "the walk never left the argmax: this case shows nothing";
}

TEST_F(TokenRulesTest, SelectorCandidatesOutOfOrderOrWrong) {
  RUN_OR_SKIP("dflash2_base");
  std::swap(Value("selector.candidate_ids", 1, 16, 4), Value("selector.candidate_ids", 1, 16, 5));
  EXPECT_THAT(Check(), HasSubstr("draft 1: candidate 4"));
  std::swap(Value("selector.candidate_ids", 1, 16, 4), Value("selector.candidate_ids", 1, 16, 5));
  Value("selector.unary", 2, 16, 15) += 0.25;
  EXPECT_THAT(Check(), HasSubstr("draft 2: candidate 15"));
}

TEST_F(TokenRulesTest, SelectorScoreOfAnotherPredecessor) {
  RUN_OR_SKIP("dflash2_base");
  Value("selector.scores", 3, 16, 2) += 0.01;
  EXPECT_THAT(Check(), HasSubstr("draft 3: score of candidate 2"));
}

TEST_F(TokenRulesTest, MissingStagesAreNamed) {
  RUN_OR_SKIP("dflash2_base");
  tapped_.erase("selector.scores");
  EXPECT_THAT(Check(), HasSubstr("selector.scores was not tapped"));
  tapped_.erase("logits");
  EXPECT_THAT(Check(), HasSubstr("cannot be recomputed"));
}

}  // namespace
}  // namespace draftmark
