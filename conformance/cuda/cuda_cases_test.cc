// Every draft in golden/, and every oracle case at hand, on the GPU: both scratch versions, and the
// path without a cache.
#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "conformance/cuda/cuda_backend.h"
#include "src/base/status_matchers.h"
#include "src/cases/drafter_case.h"
#include "src/cuda/gpu_test.h"

namespace draftmark {
namespace {

struct Run {
  std::string directory;
  std::string name;
  CudaSessionKind kind;
};

std::vector<Run> RunsBelow(const std::string& folder) {
  const char* const runfiles = std::getenv("TEST_SRCDIR");
  std::vector<Run> runs;
  if (runfiles == nullptr) return runs;
  for (const std::string& directory : FindDrafterCases(std::string(runfiles) + "/" + folder)) {
    std::string name = directory.substr(directory.rfind('/') + 1);
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    runs.push_back({directory, name + "_v2", {.scratch_version = 2}});
    runs.push_back({directory, name + "_v1", {.scratch_version = 1}});
    runs.push_back({directory, name + "_contiguous", {.scratch_version = 2, .paged = false}});
  }
  return runs;
}

std::string RunName(const ::testing::TestParamInfo<Run>& info) { return info.param.name; }

class CudaCaseTest : public GpuTest, public ::testing::WithParamInterface<Run> {
 protected:
  void RunAndExpectPass() {
    DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CudaBackend> cuda, CudaBackend::Open());
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                            DrafterCase::Load(GetParam().directory));
    DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                            RunDrafterCase(drafter_case, Precision::kBf16, kCudaBackend,
                                           cuda->Sessions(GetParam().kind)));
    EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
    EXPECT_GE(report.verdicts.size(), 10u) << "hardly anything was compared";
  }
};

class CudaGoldenCaseTest : public CudaCaseTest {};
TEST_P(CudaGoldenCaseTest, Passes) { RunAndExpectPass(); }
INSTANTIATE_TEST_SUITE_P(Drafter, CudaGoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow("draftmark/golden/drafter")), RunName);
INSTANTIATE_TEST_SUITE_P(Drafts, CudaGoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow("draftmark/golden/drafts")), RunName);

class CudaOracleCaseTest : public CudaCaseTest {};
// Empty without ../shared/cases.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaOracleCaseTest);
TEST_P(CudaOracleCaseTest, Passes) { RunAndExpectPass(); }
INSTANTIATE_TEST_SUITE_P(Oracle, CudaOracleCaseTest,
                         ::testing::ValuesIn(RunsBelow("oracle_cases/cases/drafter")), RunName);

TEST(CudaCasesTest, TheGoldenDraftsAreThere) {
  EXPECT_EQ(RunsBelow("draftmark/golden/drafter").size(), 3u * 7u);
  EXPECT_EQ(RunsBelow("draftmark/golden/drafts").size(), 3u * 25u);
}

}  // namespace
}  // namespace draftmark
