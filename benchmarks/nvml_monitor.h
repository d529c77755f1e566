// NvmlMonitor: the GpuMonitor of a machine with NVIDIA's driver.
//
//   const std::unique_ptr<GpuMonitor> monitor = OpenGpuMonitor("0000:01:00.0");
//
// What the library does not tell (an absent function, an error, a value that the device lacks) is
// unknown. One thread at a time.
#ifndef DRAFTMARK_BENCHMARKS_NVML_MONITOR_H_
#define DRAFTMARK_BENCHMARKS_NVML_MONITOR_H_

#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/cuda/nvml_library.h"
#include "src/perf/gpu_state.h"

namespace draftmark {

class NvmlMonitor final : public GpuMonitor {
 public:
  // UNAVAILABLE if the library does not start or does not know the device.
  static StatusOr<std::unique_ptr<NvmlMonitor>> Create(const NvmlFunctions& nvml,
                                                       const std::string& pci_bus_id);

  GpuState Quick() override;
  GpuState Full() override;

 private:
  NvmlMonitor(const NvmlFunctions& nvml, NvmlDevice device) : nvml_(nvml), device_(device) {}

  const NvmlFunctions nvml_;
  const NvmlDevice device_;
};

// Of this machine's library; one that knows nothing where that does not work.
std::unique_ptr<GpuMonitor> OpenGpuMonitor(const std::string& pci_bus_id);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_NVML_MONITOR_H_
