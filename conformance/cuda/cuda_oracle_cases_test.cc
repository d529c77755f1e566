// Every oracle case at hand on the GPU; none without ../shared/cases.

#include "conformance/cuda/cuda_case_testing.h"
#include "src/base/runfiles.h"

namespace draftmark {
namespace {

std::vector<CudaCaseRun> OracleRuns() {
  return RunsBelow(ExternalRunfiles("oracle_cases", "cases/drafter"));
}

class CudaOracleCaseTest : public CudaCaseTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaOracleCaseTest);
TEST_P(CudaOracleCaseTest, Passes) { RunAndExpectPass(); }
INSTANTIATE_TEST_SUITE_P(Oracle, CudaOracleCaseTest, ::testing::ValuesIn(OracleRuns()), RunName);

}  // namespace
}  // namespace draftmark
