#include "conformance/scratch/worked_examples.h"

#include <functional>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/base/test_name.h"
#include "src/cases/case_id.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Failures(const std::vector<ScratchCheck>& checks) {
  std::vector<std::string> failures;
  for (const ScratchCheck& check : checks) {
    if (!check.passed) failures.push_back(check.id + ": " + check.message);
  }
  return failures;
}

class WorkedExampleTest : public ::testing::TestWithParam<WorkedExample> {};

TEST_P(WorkedExampleTest, EveryNumberOfTheSpec) {
  int seen = 0;
  for (const ScratchCheck& check : RunScratchChecks()) {
    if (!check.id.starts_with(GetParam().id + "/")) continue;
    EXPECT_TRUE(check.passed) << check.id << ": " << check.message;
    ++seen;
  }
  EXPECT_EQ(seen, GetParam().bytes.size() + 4);
}

INSTANTIATE_TEST_SUITE_P(Section4, WorkedExampleTest, ::testing::ValuesIn(WorkedExamples()),
                         [](const auto& example) { return TestName(example.param.id); });

TEST(ScratchChecksTest, IdsAreUnique) {
  std::set<std::string> ids;
  const std::vector<ScratchCheck> checks = RunScratchChecks();
  for (const ScratchCheck& check : checks) ids.insert(check.id);
  EXPECT_EQ(ids.size(), checks.size());
  EXPECT_GT(ids.size(), 100u);
}

// The roundings in seed 000's prose, for the record: "32 rows x 2048 BF16 x ~10 buffers", and the
// fused KV weight, which is no scratch.
TEST(ScratchChecksTest, ProseOfSeed000) {
  EXPECT_EQ(32u * 2048 * 2 * 10, 1310720u);
  EXPECT_EQ(5u * 2 * 512 * 2048 * 2, 20971520u);
}

TEST(WorkedExamplesTest, IdsAreCaseIdsAndUnique) {
  std::set<std::string> seen;
  for (const WorkedExample& example : WorkedExamples()) {
    DM_ASSERT_OK_AND_ASSIGN(const CaseId id, ParseCaseId(example.id));
    EXPECT_EQ(id.ToString(), example.id);
    EXPECT_TRUE(seen.insert(example.id).second) << example.id;
  }
}

// Mutants of the request stand for mutants of the formulas: each must fail somewhere.
TEST(ScratchChecksTest, MutantsAreCaught) {
  const struct {
    const char* description;
    std::function<void(DflashScratchRequest&)> change;
  } kMutants[] = {
      {"slots as upstream",
       [](auto& r) {
         if (r.version == 2) r.layout = DflashLayoutName::kAsUpstream;
       }},
      {"gamma one too wide",
       [](auto& r) { r.gamma = r.gamma.value_or(r.geometry.block_size) + 1; }},
      {"conf_out for all bands", [](auto& r) { r.batched_heads = true; }},
      {"conf_out for one band although heads are batched",
       [](auto& r) { r.batched_heads = false; }},
      {"one token too many", [](auto& r) { r.geometry.vocab_size += 1; }},
      {"window one too wide", [](auto& r) { r.ctx_window += 1; }},
      {"no selector", [](auto& r) { r.tensors.selector = r.tensors.convs = false; }},
      {"the pair's layout named code-b",
       [](auto& r) {
         if (r.version == 1 && !r.layout) r.layout = DflashLayoutName::kCodeB;
       }},
      {"one tap too few", [](auto& r) { r.geometry.target_taps -= 1; }},
      {"selector rank of the markov head", [](auto& r) { r.geometry.selector_rank = 255; }},
  };
  for (const auto& mutant : kMutants) {
    const auto create = [&mutant](DflashScratchRequest r) {
      mutant.change(r);
      return DflashScratchLayout::Create(r);
    };
    EXPECT_THAT(Failures(RunScratchChecks(create)), Not(IsEmpty())) << mutant.description;
  }
}

TEST(ScratchChecksTest, AnErrorIsAFailedCheckWithItsMessage) {
  const auto refuse = [](const DflashScratchRequest&) -> StatusOr<DflashScratchLayout> {
    return InvalidArgumentError("no layout today");
  };
  const std::vector<ScratchCheck> checks = RunScratchChecks(refuse);
  EXPECT_EQ(checks.size(), WorkedExamples().size());
  for (const ScratchCheck& check : checks) {
    EXPECT_FALSE(check.passed);
    EXPECT_THAT(check.message, HasSubstr("no layout today"));
  }
}

}  // namespace
}  // namespace draftmark
