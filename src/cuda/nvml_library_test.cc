#include "src/cuda/nvml_library.h"

#include <cstdlib>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(NvmlLibrary, NamesWhatItLookedFor) {
  EXPECT_THAT(LoadNvml({"/nowhere/libnvidia-ml.so.1", "libabsent.so"}),
              StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("/nowhere/libnvidia-ml.so.1: "),
                                                       HasSubstr("libabsent.so"))));
}

TEST(NvmlLibrary, NamesAnotherLibrary) {
  EXPECT_THAT(LoadNvml({"libc.so.6"}),
              StatusIs(StatusCode::kUnavailable, "NVML: libc.so.6 has no function nvmlInit_v2"));
  EXPECT_THAT(LoadNvml({std::getenv("PARTIAL_LIBRARY")}),
              StatusIs(StatusCode::kUnavailable,
                       HasSubstr("has no function nvmlDeviceGetHandleByPciBusId_v2")));
}

// An unfit candidate before it does not hide the right one.
TEST(NvmlLibrary, AnOlderDriversFunctionsAreFoundAndMissingOnesNull) {
  DM_ASSERT_OK_AND_ASSIGN(const NvmlFunctions nvml,
                          LoadNvml({std::getenv("PARTIAL_LIBRARY"), std::getenv("OLDER_LIBRARY")}));
  EXPECT_EQ(nvml.path, std::getenv("OLDER_LIBRARY"));
  ASSERT_EQ(nvml.init(), kNvmlSuccess);
  NvmlDevice device = nullptr;
  ASSERT_EQ(nvml.device_by_pci_bus_id("0000:01:00.0", &device), kNvmlSuccess);
  unsigned mhz = 0;
  ASSERT_EQ(nvml.clock_info(device, kNvmlClockSm, &mhz), kNvmlSuccess);
  EXPECT_EQ(mhz, 1980u);
  ASSERT_NE(nvml.throttle_reasons, nullptr);
  unsigned long long reasons = 0;
  ASSERT_EQ(nvml.throttle_reasons(device, &reasons), kNvmlSuccess);
  EXPECT_EQ(reasons, 4u);
  ASSERT_NE(nvml.application_clock, nullptr);
  ASSERT_EQ(nvml.application_clock(device, kNvmlClockSm, &mhz), kNvmlSuccess);
  EXPECT_EQ(mhz, 1500u);
  EXPECT_EQ(nvml.default_application_clock, nullptr);
  EXPECT_EQ(nvml.ecc_errors, nullptr);
  EXPECT_EQ(nvml.compute_processes, nullptr);
}

TEST(NvmlLibrary, TheMachinesLibraryHasAllOfThem) {
  const StatusOr<NvmlFunctions> nvml = LoadNvml();
  if (!nvml.ok()) GTEST_SKIP() << nvml.status().ToString();
  EXPECT_NE(nvml->clock_info, nullptr);
  EXPECT_NE(nvml->throttle_reasons, nullptr);
  EXPECT_NE(nvml->power_usage, nullptr);
  EXPECT_NE(nvml->temperature, nullptr);
  EXPECT_NE(nvml->ecc_errors, nullptr);
  EXPECT_NE(nvml->compute_processes, nullptr);
}

}  // namespace
}  // namespace draftmark
