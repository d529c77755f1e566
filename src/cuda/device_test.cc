#include "src/cuda/device.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;

TEST(DeviceInfoTest, Describe) {
  DeviceInfo info;
  info.name = "NVIDIA H200";
  info.compute_major = 9;
  info.sm_count = 132;
  info.memory_bytes = 150754820096;
  info.l2_bytes = 50 << 20;
  info.driver_version = 13000;
  info.runtime_version = 13010;
  EXPECT_EQ(info.Describe(),
            "NVIDIA H200 (sm_90, 132 SMs, 140.4 GiB, L2 50 MiB, driver CUDA 13.0, runtime CUDA "
            "13.1)");
}

// Holds on every machine: either devices with sensible numbers, or a Status that says why not.
TEST(ListDevicesTest, DevicesOrTheReason) {
  const StatusOr<std::vector<DeviceInfo>> devices = ListDevices();
  if (!devices.ok()) {
    EXPECT_THAT(devices, StatusIs(StatusCode::kUnavailable, HasSubstr("no usable CUDA device: ")));
    return;
  }
  ASSERT_FALSE(devices->empty());
  for (const DeviceInfo& info : *devices) {
    SCOPED_TRACE(info.Describe());
    EXPECT_FALSE(info.name.empty());
    EXPECT_THAT(info.compute_major, Gt(0));
    EXPECT_THAT(info.memory_bytes, Gt(0));
    EXPECT_THAT(info.sm_count, Gt(0));
    EXPECT_THAT(info.l2_bytes, Gt(0));
    EXPECT_THAT(info.driver_version, Gt(0));
    EXPECT_THAT(info.runtime_version, Gt(0));
  }
}

}  // namespace
}  // namespace draftmark
