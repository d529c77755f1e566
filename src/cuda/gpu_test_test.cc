#include "src/cuda/gpu_test.h"

namespace draftmark {
namespace {

TEST(DecideGpuTestTest, RunsWithADevice) {
  const StatusOr<std::vector<DeviceInfo>> devices(std::vector<DeviceInfo>(1));
  EXPECT_EQ(DecideGpuTest(devices, nullptr), GpuTestDecision::kRun);
  EXPECT_EQ(DecideGpuTest(devices, "1"), GpuTestDecision::kRun);
}

TEST(DecideGpuTestTest, SkipsWithoutADeviceUnlessOneIsRequired) {
  const StatusOr<std::vector<DeviceInfo>> devices(UnavailableError("no driver"));
  EXPECT_EQ(DecideGpuTest(devices, nullptr), GpuTestDecision::kSkip);
  EXPECT_EQ(DecideGpuTest(devices, ""), GpuTestDecision::kSkip);
  EXPECT_EQ(DecideGpuTest(devices, "0"), GpuTestDecision::kSkip);
  EXPECT_EQ(DecideGpuTest(devices, "1"), GpuTestDecision::kFail);
}

}  // namespace
}  // namespace draftmark
