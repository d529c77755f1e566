#include "src/cuda/device.h"

#include <cuda_runtime_api.h>

#include "src/cuda/cuda_status.h"

namespace draftmark {
namespace {

StatusOr<DeviceInfo> ReadDevice(int ordinal) {
  cudaDeviceProp properties{};
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties"));
  DeviceInfo info;
  info.ordinal = ordinal;
  info.name = properties.name;
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.sm_count = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaDriverGetVersion(&info.driver_version), "cudaDriverGetVersion"));
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaRuntimeGetVersion(&info.runtime_version), "cudaRuntimeGetVersion"));
  return info;
}

}  // namespace

StatusOr<std::vector<DeviceInfo>> ListDevices() {
  int driver_version = 0;
  // Without a driver CUDA reports version 0 here, and below an error about a too old one.
  if (cudaDriverGetVersion(&driver_version) == cudaSuccess && driver_version == 0) {
    return UnavailableError("no usable CUDA device: no NVIDIA driver (libcuda.so.1) was found");
  }
  int count = 0;
  DM_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceCount(&count), "no usable CUDA device"));
  if (count == 0) return UnavailableError("no usable CUDA device: the driver lists none");
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DM_ASSIGN_OR_RETURN(DeviceInfo info, ReadDevice(ordinal));
    devices.push_back(std::move(info));
  }
  return devices;
}

}  // namespace draftmark
