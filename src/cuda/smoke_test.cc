#include <cublasLt.h>

#include "src/base/status_matchers.h"
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

// Needs no device: the library is found, and it is the one of the headers.
TEST(CublasLtTest, LibraryMatchesHeaders) {
  EXPECT_EQ(cublasLtGetVersion() / 10000, static_cast<std::size_t>(CUBLAS_VERSION / 10000));
}

}  // namespace
}  // namespace draftmark
