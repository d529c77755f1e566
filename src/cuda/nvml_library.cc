#include "src/cuda/nvml_library.h"

#include <dlfcn.h>

#include <initializer_list>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace draftmark {
namespace {

// The first of the names that the library has: newer ones first.
template <typename Function>
void Bind(void* library, std::initializer_list<const char*> names, Function& function) {
  for (const char* const name : names) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function != nullptr) return;
  }
}

StatusOr<NvmlFunctions> Open(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = ::dlerror();
    return UnavailableError(error != nullptr ? error : path + ": unknown error");
  }
  NvmlFunctions nvml;
  nvml.path = path;
  Bind(library, {"nvmlInit_v2"}, nvml.init);
  Bind(library, {"nvmlDeviceGetHandleByPciBusId_v2"}, nvml.device_by_pci_bus_id);
  if (nvml.init == nullptr || nvml.device_by_pci_bus_id == nullptr) {
    (void)::dlclose(library);
    return UnavailableError(
        fmt::format("{} has no function {}", path,
                    nvml.init == nullptr ? "nvmlInit_v2" : "nvmlDeviceGetHandleByPciBusId_v2"));
  }
  Bind(library, {"nvmlDeviceGetCount_v2"}, nvml.device_count);
  Bind(library, {"nvmlDeviceGetHandleByIndex_v2"}, nvml.device_by_index);
  Bind(library, {"nvmlDeviceGetUUID"}, nvml.device_uuid);
  Bind(library, {"nvmlDeviceGetClockInfo"}, nvml.clock_info);
  Bind(library, {"nvmlDeviceGetApplicationsClock"}, nvml.application_clock);
  Bind(library, {"nvmlDeviceGetDefaultApplicationsClock"}, nvml.default_application_clock);
  Bind(library,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
       nvml.throttle_reasons);
  Bind(library, {"nvmlDeviceGetPowerUsage"}, nvml.power_usage);
  Bind(library, {"nvmlDeviceGetTemperature"}, nvml.temperature);
  Bind(library, {"nvmlDeviceGetTotalEccErrors"}, nvml.ecc_errors);
  Bind(library, {"nvmlDeviceGetComputeRunningProcesses_v3"}, nvml.compute_processes);
  return nvml;
}

}  // namespace

StatusOr<NvmlFunctions> LoadNvml(const std::vector<std::string>& candidates) {
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    StatusOr<NvmlFunctions> nvml = Open(candidate);
    if (nvml.ok()) return nvml;
    found.push_back(nvml.status().message());
  }
  return UnavailableError(fmt::format("NVML: {}", fmt::join(found, "; ")));
}

}  // namespace draftmark
