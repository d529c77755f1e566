// Every draft in golden/ on the GPU.
#include "conformance/cuda/cuda_case_testing.h"
#include "src/base/test_data.h"

namespace draftmark {
namespace {

class CudaGoldenCaseTest : public CudaCaseTest {};
TEST_P(CudaGoldenCaseTest, Passes) { RunAndExpectPass(); }
INSTANTIATE_TEST_SUITE_P(Drafter, CudaGoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow(TestData("golden/drafter"))), RunName);
INSTANTIATE_TEST_SUITE_P(Drafts, CudaGoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow(TestData("golden/drafts"))), RunName);

TEST(CudaCasesTest, TheGoldenDraftsAreThere) {
  EXPECT_EQ(RunsBelow(TestData("golden/drafter")).size(), 4u * 7u);
  EXPECT_EQ(RunsBelow(TestData("golden/drafts")).size(), 4u * 32u);
}

}  // namespace
}  // namespace draftmark
