#include "benchmarks/roofline/goals.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

TEST(RooflineGoalsTest, EveryDefaultDraftHasAGoal) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<RooflineWork> works, RooflineWorks());
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<DraftCase> drafts, FindDraftCases({}));
  ASSERT_EQ(works.size(), drafts.size());
  ASSERT_EQ(works.size(), 6u);
  for (std::size_t i = 0; i < works.size(); ++i) {
    EXPECT_EQ(works[i].draft.id, drafts[i].id);
    EXPECT_GT(works[i].aim, 1);
    EXPECT_GT(works[i].must, works[i].aim);
  }
  EXPECT_EQ(works[0].must, 1.25);
  EXPECT_EQ(works[0].aim, 1.10);
  EXPECT_EQ(works[0].baseline, "qwen3_8b_b16_ctx2048");
  EXPECT_EQ(works[3].baseline, "");
  EXPECT_EQ(works[5].must, 1.45);
  EXPECT_EQ(works[5].baseline, "qwen3_8b_b16_ctx2048_nb8");
}

TEST(RooflineGoalsTest, ClassesOfLinearLayersMeetAtTheirBorders) {
  EXPECT_EQ(LinearGoalOf(2).name, "under 64 MB");
  EXPECT_EQ(LinearGoalOf(63'999'999).must, 0.80);
  EXPECT_EQ(LinearGoalOf(64'000'000).name, "64 to 96 MB");
  EXPECT_EQ(LinearGoalOf(95'999'999).must, 0);
  EXPECT_EQ(LinearGoalOf(96'000'000).name, "from 96 MB");
  EXPECT_EQ(LinearGoalOf(2'542'796'800).must, 0.88);
}

}  // namespace
}  // namespace draftmark
