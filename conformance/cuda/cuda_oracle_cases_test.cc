// Every oracle case at hand on the GPU; none without ../shared/cases.
#include "conformance/cuda/cuda_case_testing.h"

namespace draftmark {
namespace {

class CudaOracleCaseTest : public CudaCaseTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaOracleCaseTest);
TEST_P(CudaOracleCaseTest, Passes) { RunAndExpectPass(); }
INSTANTIATE_TEST_SUITE_P(Oracle, CudaOracleCaseTest,
                         ::testing::ValuesIn(RunsBelow("oracle_cases/cases/drafter")), RunName);

}  // namespace
}  // namespace draftmark
