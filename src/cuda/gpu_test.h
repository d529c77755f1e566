// The base class of tests that need a GPU, and the one place that decides what happens without one.
//
//   using MyKernelTest = GpuTest;
//   TEST_F(MyKernelTest, AddsRows) { ... device().sm_count ... }
//
// A process takes a GPU for itself (device_lease.h) with the first such test, and keeps it; so tests of
// several processes run at a time where there are several GPUs.
//
// Without a device such a test is skipped with the reason. With DRAFTMARK_REQUIRE_GPU=1, which
// --config=gpu sets, it fails instead: a GPU run that tested nothing must not look green.
#ifndef DRAFTMARK_SRC_CUDA_GPU_TEST_H_
#define DRAFTMARK_SRC_CUDA_GPU_TEST_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/status.h"
#include "src/cuda/device.h"

namespace draftmark {

enum class GpuTestDecision { kRun, kSkip, kFail };

// `require_gpu` is the value of DRAFTMARK_REQUIRE_GPU, null when unset. Only "1" requires a GPU.
GpuTestDecision DecideGpuTest(const StatusOr<std::vector<DeviceInfo>>& devices,
                              const char* require_gpu);

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // The first device; tests run on it.
  const DeviceInfo& device() const { return device_; }

 private:
  DeviceInfo device_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_GPU_TEST_H_
