#include "src/cuda/gpu_test.h"

#include <cstdlib>
#include <string_view>

namespace draftmark {

GpuTestDecision DecideGpuTest(const StatusOr<std::vector<DeviceInfo>>& devices,
                              const char* require_gpu) {
  if (devices.ok()) return GpuTestDecision::kRun;
  const bool required = require_gpu != nullptr && std::string_view(require_gpu) == "1";
  return required ? GpuTestDecision::kFail : GpuTestDecision::kSkip;
}

void GpuTest::SetUp() {
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
