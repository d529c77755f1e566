#include "benchmarks/nvml_monitor.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "src/perf/contamination.h"

namespace draftmark {
namespace {

constexpr double kHzPerMhz = 1e6;
// Between the question how many there are and the list a few may start.
constexpr unsigned kSpareProcesses = 8;

using ClockFunction = int (*)(NvmlDevice, int, unsigned*);

std::optional<double> Clock(ClockFunction function, NvmlDevice device, int clock) {
  unsigned mhz = 0;
  if (function == nullptr || function(device, clock, &mhz) != kNvmlSuccess) return std::nullopt;
  // 0 is what a virtual GPU answers.
  return mhz > 0 ? std::optional<double>(mhz * kHzPerMhz) : std::nullopt;
}

// NVML has no question for locked clocks. That clocks were asked for shows in the application clock,
// and, while the GPU would run faster, in the reason that holds it.
ClocksPolicy PolicyOf(const NvmlFunctions& nvml, NvmlDevice device,
                      const std::optional<std::uint64_t>& reasons) {
  const auto asked = Clock(nvml.application_clock, device, kNvmlClockSm);
  const auto own = Clock(nvml.default_application_clock, device, kNvmlClockSm);
  const bool held = reasons && (*reasons & kReasonApplicationClocks) != 0;
  if (held || (asked && own && *asked != *own)) return ClocksPolicy::kLocked;
  return reasons || (asked && own) ? ClocksPolicy::kUnlocked : ClocksPolicy::kUnknown;
}

std::optional<std::uint64_t> EccErrors(const NvmlFunctions& nvml, NvmlDevice device) {
  if (nvml.ecc_errors == nullptr) return std::nullopt;
  std::uint64_t errors = 0;
  for (const int kind : {kNvmlEccCorrected, kNvmlEccUncorrected}) {
    unsigned long long count = 0;
    if (nvml.ecc_errors(device, kind, kNvmlEccVolatile, &count) != kNvmlSuccess) {
      return std::nullopt;
    }
    errors += count;
  }
  return errors;
}

std::optional<std::vector<std::uint64_t>> Processes(const NvmlFunctions& nvml, NvmlDevice device) {
  if (nvml.compute_processes == nullptr) return std::nullopt;
  unsigned count = 0;
  const int asked = nvml.compute_processes(device, &count, nullptr);
  if (asked == kNvmlSuccess) return std::vector<std::uint64_t>();
  if (asked != kNvmlInsufficientSize) return std::nullopt;
  std::vector<NvmlProcess> infos(count + kSpareProcesses);
  count = static_cast<unsigned>(infos.size());
  if (nvml.compute_processes(device, &count, infos.data()) != kNvmlSuccess ||
      count > infos.size()) {
    return std::nullopt;
  }
  std::vector<std::uint64_t> ids;
  for (unsigned i = 0; i < count; ++i) ids.push_back(infos[i].pid);
  return ids;
}

}  // namespace

StatusOr<std::unique_ptr<NvmlMonitor>> NvmlMonitor::Create(const NvmlFunctions& nvml,
                                                           const std::string& pci_bus_id) {
  if (const int started = nvml.init(); started != kNvmlSuccess) {
    return UnavailableError(fmt::format("NVML does not start: error {}", started));
  }
  NvmlDevice device = nullptr;
  if (const int found = nvml.device_by_pci_bus_id(pci_bus_id.c_str(), &device);
      found != kNvmlSuccess) {
    return UnavailableError(
        fmt::format("NVML does not know the device {}: error {}", pci_bus_id, found));
  }
  return std::unique_ptr<NvmlMonitor>(new NvmlMonitor(nvml, device));
}

GpuState NvmlMonitor::Quick() {
  GpuState state;
  state.sm_clock_hz = Clock(nvml_.clock_info, device_, kNvmlClockSm);
  state.memory_clock_hz = Clock(nvml_.clock_info, device_, kNvmlClockMemory);
  unsigned long long reasons = 0;
  if (nvml_.throttle_reasons != nullptr &&
      nvml_.throttle_reasons(device_, &reasons) == kNvmlSuccess) {
    state.throttle_reasons = reasons;
  }
  return state;
}

GpuState NvmlMonitor::Full() {
  GpuState state = Quick();
  unsigned value = 0;
  if (nvml_.power_usage != nullptr && nvml_.power_usage(device_, &value) == kNvmlSuccess) {
    state.power_watts = value / 1e3;
  }
  if (nvml_.temperature != nullptr &&
      nvml_.temperature(device_, kNvmlTemperatureGpu, &value) == kNvmlSuccess) {
    state.temperature_celsius = value;
  }
  state.ecc_errors = EccErrors(nvml_, device_);
  state.processes = Processes(nvml_, device_);
  state.clocks = PolicyOf(nvml_, device_, state.throttle_reasons);
  return state;
}

std::unique_ptr<GpuMonitor> OpenGpuMonitor(const std::string& pci_bus_id) {
  if (const StatusOr<NvmlFunctions> nvml = LoadNvml(); nvml.ok()) {
    StatusOr<std::unique_ptr<NvmlMonitor>> monitor = NvmlMonitor::Create(*nvml, pci_bus_id);
    if (monitor.ok()) return *std::move(monitor);
  }
  return std::make_unique<UnknownGpuMonitor>();
}

}  // namespace draftmark
