#include "src/base/status_matchers.h"
#include "src/cuda/cublaslt_library.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/smoke_kernel.h"

namespace draftmark {
namespace {

using SmokeTest = GpuTest;

TEST_F(SmokeTest, KernelRuns) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<float> scaled, ScaleOnDevice(values, 0.5F));
  ASSERT_EQ(scaled.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(scaled[i], 0.5F * values[i]) << i;
}

// Needs no device. The property is how the results of a run on a GPU know the version.
TEST(CublasLtTest, LibraryMatchesHeaders) {
  const StatusOr<CublasLtFunctions> lt = LoadCublasLt();
  if (!lt.ok()) GTEST_SKIP() << lt.status().ToString();
  RecordProperty("cublaslt_version", std::to_string(lt->version));
  EXPECT_EQ(lt->version / 10000, static_cast<std::size_t>(CUBLAS_VERSION / 10000));
}

}  // namespace
}  // namespace draftmark
