#include "benchmarks/watched_gpu.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "benchmarks/nvml_monitor.h"
#include "src/cuda/device.h"

namespace draftmark {
namespace {

// As NVML writes it; empty if it cannot be told, which no device is called.
std::string PciBusId(int device) {
  std::array<char, 32> id{};
  if (cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device) == cudaSuccess) {
    return id.data();
  }
  (void)cudaGetLastError();
  return "";
}

}  // namespace

StatusOr<WatchedGpu> WatchedGpu::Open() {
  DM_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, ListDevices());
  WatchedGpu watched;
  watched.monitor = OpenGpuMonitor(PciBusId(devices.front().ordinal));
  const GpuState before = watched.monitor->Full();
  DM_ASSIGN_OR_RETURN(watched.gpu, BenchmarkGpu::Create());
  watched.watch =
      ProcessWatch(before, watched.monitor->Full(), static_cast<std::uint64_t>(::getpid()));
  return watched;
}

}  // namespace draftmark
