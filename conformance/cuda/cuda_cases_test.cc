// Every draft in golden/ on the GPU.
#include "conformance/cuda/cuda_case_testing.h"

namespace draftmark {
namespace {

class CudaGoldenCaseTest : public CudaCaseTest {};
TEST_P(CudaGoldenCaseTest, Passes) { RunAndExpectPass(); }
INSTANTIATE_TEST_SUITE_P(Drafter, CudaGoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow("draftmark/golden/drafter")), RunName);
INSTANTIATE_TEST_SUITE_P(Drafts, CudaGoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow("draftmark/golden/drafts")), RunName);

TEST(CudaCasesTest, TheGoldenDraftsAreThere) {
  EXPECT_EQ(RunsBelow("draftmark/golden/drafter").size(), 3u * 7u);
  EXPECT_EQ(RunsBelow("draftmark/golden/drafts").size(), 3u * 25u);
}

}  // namespace
}  // namespace draftmark
