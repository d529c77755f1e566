#include "benchmarks/nvml_monitor.h"

#include <cstring>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kNotSupported = 3;
int g_device = 0;
// NVML's functions take no state of the caller's.
unsigned g_processes = 0;
int g_process_answer = kNvmlSuccess;

NvmlFunctions Healthy() {
  NvmlFunctions nvml;
  nvml.init = [] { return kNvmlSuccess; };
  nvml.device_by_pci_bus_id = [](const char* id, NvmlDevice* device) {
    if (std::strcmp(id, "0000:01:00.0") != 0) return 6;
    *device = &g_device;
    return kNvmlSuccess;
  };
  nvml.clock_info = [](NvmlDevice, int clock, unsigned* mhz) {
    *mhz = clock == kNvmlClockSm ? 1980 : 3201;
    return kNvmlSuccess;
  };
  nvml.throttle_reasons = [](NvmlDevice, unsigned long long* reasons) {
    *reasons = 0x44;
    return kNvmlSuccess;
  };
  nvml.power_usage = [](NvmlDevice, unsigned* milliwatts) {
    *milliwatts = 512'500;
    return kNvmlSuccess;
  };
  nvml.temperature = [](NvmlDevice, int, unsigned* celsius) {
    *celsius = 41;
    return kNvmlSuccess;
  };
  nvml.ecc_errors = [](NvmlDevice, int kind, int, unsigned long long* n) {
    *n = kind == kNvmlEccCorrected ? 5 : 2;
    return kNvmlSuccess;
  };
  nvml.compute_processes = [](NvmlDevice, unsigned* count, NvmlProcess* infos) {
    if (g_processes == 0) {
      *count = 0;
      return kNvmlSuccess;
    }
    if (*count < g_processes) {
      *count = g_processes;
      return kNvmlInsufficientSize;
    }
    for (unsigned i = 0; i < g_processes; ++i) infos[i].pid = 100 + i;
    *count = g_processes;
    return g_process_answer;
  };
  g_processes = 0;
  g_process_answer = kNvmlSuccess;
  return nvml;
}

std::unique_ptr<NvmlMonitor> Open(const NvmlFunctions& nvml) {
  return NvmlMonitor::Create(nvml, "0000:01:00.0").value();
}

TEST(NvmlMonitor, ReadsEverything) {
  const auto monitor = Open(Healthy());
  const GpuState state = monitor->Full();
  EXPECT_EQ(state.sm_clock_hz, 1.98e9);
  EXPECT_EQ(state.memory_clock_hz, 3.201e9);
  EXPECT_EQ(state.throttle_reasons, 0x44u);
  EXPECT_EQ(state.power_watts, 512.5);
  EXPECT_EQ(state.temperature_celsius, 41);
  EXPECT_EQ(state.ecc_errors, 7u);
  ASSERT_TRUE(state.processes.has_value());
  EXPECT_THAT(*state.processes, ElementsAre());
  g_processes = 3;
  EXPECT_THAT(*monitor->Full().processes, ElementsAre(100, 101, 102));
}

// Someone asked for clocks, or is seen to hold the GPU below what it could do.
TEST(NvmlMonitor, TellsTheClocksPolicy) {
  NvmlFunctions nvml = Healthy();
  EXPECT_EQ(Open(nvml)->Full().clocks, ClocksPolicy::kUnlocked);
  nvml.throttle_reasons = [](NvmlDevice, unsigned long long* reasons) {
    *reasons = 0x2;
    return kNvmlSuccess;
  };
  EXPECT_EQ(Open(nvml)->Full().clocks, ClocksPolicy::kLocked);
  nvml.throttle_reasons = nullptr;
  EXPECT_EQ(Open(nvml)->Full().clocks, ClocksPolicy::kUnknown);
  nvml.application_clock = [](NvmlDevice, int, unsigned* mhz) {
    *mhz = 1980;
    return kNvmlSuccess;
  };
  EXPECT_EQ(Open(nvml)->Full().clocks, ClocksPolicy::kUnknown);
  nvml.default_application_clock = nvml.application_clock;
  EXPECT_EQ(Open(nvml)->Full().clocks, ClocksPolicy::kUnlocked);
  nvml.application_clock = [](NvmlDevice, int, unsigned* mhz) {
    *mhz = 1500;
    return kNvmlSuccess;
  };
  EXPECT_EQ(Open(nvml)->Full().clocks, ClocksPolicy::kLocked);
  EXPECT_EQ(ClocksPolicyName(ClocksPolicy::kLocked), "locked");
  EXPECT_EQ(ClocksPolicyName(GpuState().clocks), "unknown");
}

TEST(NvmlMonitor, QuickAsksForClocksAndReasonsAlone) {
  const GpuState state = Open(Healthy())->Quick();
  EXPECT_EQ(state.sm_clock_hz, 1.98e9);
  EXPECT_EQ(state.memory_clock_hz, 3.201e9);
  EXPECT_EQ(state.throttle_reasons, 0x44u);
  EXPECT_FALSE(state.power_watts || state.temperature_celsius || state.ecc_errors);
  EXPECT_FALSE(state.processes.has_value());
}

TEST(NvmlMonitor, WhatTheLibraryLacksIsUnknown) {
  NvmlFunctions bare = Healthy();
  const NvmlFunctions all = bare;
  bare = {};
  bare.init = all.init;
  bare.device_by_pci_bus_id = all.device_by_pci_bus_id;
  const GpuState state = Open(bare)->Full();
  EXPECT_FALSE(state.sm_clock_hz || state.memory_clock_hz || state.throttle_reasons);
  EXPECT_FALSE(state.power_watts || state.temperature_celsius || state.ecc_errors);
  EXPECT_FALSE(state.processes.has_value());
}

TEST(NvmlMonitor, WhatTheDeviceDoesNotTellIsUnknown) {
  NvmlFunctions nvml = Healthy();
  nvml.clock_info = [](NvmlDevice, int, unsigned* mhz) {
    *mhz = 0;
    return kNvmlSuccess;
  };
  nvml.throttle_reasons = [](NvmlDevice, unsigned long long*) { return kNotSupported; };
  nvml.power_usage = [](NvmlDevice, unsigned*) { return kNotSupported; };
  nvml.temperature = [](NvmlDevice, int, unsigned*) { return kNotSupported; };
  // Of uncorrected errors it says nothing: half a count is none.
  nvml.ecc_errors = [](NvmlDevice, int kind, int, unsigned long long* n) {
    *n = 1;
    return kind == kNvmlEccCorrected ? kNvmlSuccess : kNotSupported;
  };
  g_processes = 1;
  g_process_answer = kNotSupported;
  const GpuState state = Open(nvml)->Full();
  EXPECT_FALSE(state.sm_clock_hz || state.memory_clock_hz || state.throttle_reasons);
  EXPECT_FALSE(state.power_watts || state.temperature_celsius || state.ecc_errors);
  EXPECT_FALSE(state.processes.has_value());
}

TEST(NvmlMonitor, SaysWhyItCannotStart) {
  NvmlFunctions nvml = Healthy();
  EXPECT_THAT(NvmlMonitor::Create(nvml, "0000:02:00.0").status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("0000:02:00.0: error 6")));
  nvml.init = [] { return 9; };
  EXPECT_THAT(NvmlMonitor::Create(nvml, "0000:01:00.0").status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("error 9")));
}

// Whether this machine has a driver or not.
TEST(NvmlMonitor, AMonitorIsAlwaysThere) {
  const std::unique_ptr<GpuMonitor> monitor = OpenGpuMonitor("ffff:ff:1f.7");
  ASSERT_NE(monitor, nullptr);
  EXPECT_FALSE(monitor->Full().sm_clock_hz.has_value());
  EXPECT_FALSE(monitor->Quick().throttle_reasons.has_value());
}

}  // namespace
}  // namespace draftmark
