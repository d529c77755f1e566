#include "src/cuda/gpu_test.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "src/cuda/device_lease.h"

namespace draftmark {

GpuTestDecision DecideGpuTest(const StatusOr<std::vector<DeviceInfo>>& devices,
                              const char* require_gpu) {
  if (devices.ok()) return GpuTestDecision::kRun;
  const bool required = require_gpu != nullptr && std::string_view(require_gpu) == "1";
  return required ? GpuTestDecision::kFail : GpuTestDecision::kSkip;
}

namespace {

// For the rest of the process. CUDA reads the variable with its first call, which must come later.
Status TakeDevice() {
  static const StatusOr<std::optional<DeviceLease>> lease =
      []() -> StatusOr<std::optional<DeviceLease>> {
    const std::vector<std::string> devices = LeasableDevices(LoadNvml());
    if (devices.empty()) return std::optional<DeviceLease>();
    const char* const shard = std::getenv("GTEST_SHARD_INDEX");
    const std::size_t first = shard == nullptr ? 0 : std::strtoul(shard, nullptr, 10);
    DM_ASSIGN_OR_RETURN(DeviceLease taken, DeviceLease::Take(devices, first));
    ::setenv("CUDA_VISIBLE_DEVICES", taken.device().c_str(), 1);
    return std::optional<DeviceLease>(std::move(taken));
  }();
  return lease.status();
}

}  // namespace

void GpuTest::SetUp() {
  ASSERT_TRUE(TakeDevice().ok()) << TakeDevice().ToString();
  const StatusOr<std::vector<DeviceInfo>> devices = ListDevices();
  switch (DecideGpuTest(devices, std::getenv("DRAFTMARK_REQUIRE_GPU"))) {
    case GpuTestDecision::kRun:
      device_ = devices->front();
      return;
    case GpuTestDecision::kSkip:
      GTEST_SKIP() << devices.status().ToString();
    case GpuTestDecision::kFail:
      FAIL() << "DRAFTMARK_REQUIRE_GPU=1, but " << devices.status().ToString();
  }
}

}  // namespace draftmark
