// The base of tests that run drafts of folders on the GPU: on both scratch versions, and on the path
// without a cache.
#ifndef DRAFTMARK_CONFORMANCE_CUDA_CUDA_CASE_TESTING_H_
#define DRAFTMARK_CONFORMANCE_CUDA_CUDA_CASE_TESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "conformance/cuda/cuda_backend.h"
#include "src/base/status_matchers.h"
#include "src/base/test_name.h"
#include "src/cases/drafter_case.h"
#include "src/cuda/gpu_test.h"

namespace draftmark {

struct CudaCaseRun {
  std::string directory;
  std::string name;
  CudaSessionKind kind;
};

inline std::vector<CudaCaseRun> RunsBelow(const std::string& folder) {
  std::vector<CudaCaseRun> runs;
  for (const std::string& directory : FindDrafterCases(folder)) {
    const std::string name = TestName(directory.substr(directory.rfind('/') + 1));
    runs.push_back({directory, name + "_v2", {.scratch_version = 2}});
    runs.push_back({directory, name + "_simple", {.scratch_version = 2, .fast = false}});
    runs.push_back({directory, name + "_v1", {.scratch_version = 1}});
    runs.push_back({directory, name + "_contiguous", {.scratch_version = 2, .paged = false}});
  }
  return runs;
}

inline std::string RunName(const ::testing::TestParamInfo<CudaCaseRun>& info) {
  return info.param.name;
}

class CudaCaseTest : public GpuTest, public ::testing::WithParamInterface<CudaCaseRun> {
 protected:
  void RunAndExpectPass() {
    DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CudaBackend> cuda, CudaBackend::Open());
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                            DrafterCase::Load(GetParam().directory));
    const CudaSessionKind& kind = GetParam().kind;
    DM_ASSERT_OK_AND_ASSIGN(const CaseReport report, RunCudaDraft(*cuda, kind, drafter_case));
    const bool alone = kind.scratch_version == 1 || !kind.paged;
    if (alone && !drafter_case.neighbours().empty()) {
      EXPECT_EQ(report.no_result.reason, "it holds one sequence");
      return;
    }
    EXPECT_EQ(report.no_result.reason, "");
    EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
    EXPECT_GE(report.verdicts.size(), 10u) << "hardly anything was compared";
  }
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_CUDA_CUDA_CASE_TESTING_H_
