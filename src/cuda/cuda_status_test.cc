#include "src/cuda/cuda_status.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CudaStatusTest, SuccessIsOk) { EXPECT_THAT(CudaStatus(cudaSuccess, "cudaFree"), IsOk()); }

TEST(CudaStatusTest, NamesCallAndError) {
  EXPECT_THAT(
      CudaStatus(cudaErrorMemoryAllocation, "cudaMalloc"),
      StatusIs(StatusCode::kResourceExhausted,
               AllOf(HasSubstr("cudaMalloc: cudaErrorMemoryAllocation"), HasSubstr("memory"))));
}

TEST(CudaStatusTest, CodesSayWhoCanHelp) {
  EXPECT_EQ(CudaStatus(cudaErrorNoDevice, "f").code(), StatusCode::kUnavailable);
  EXPECT_EQ(CudaStatus(cudaErrorNoKernelImageForDevice, "f").code(), StatusCode::kUnavailable);
  EXPECT_EQ(CudaStatus(cudaErrorInvalidConfiguration, "f").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CudaStatus(cudaErrorIllegalAddress, "f").code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace draftmark
