// Launches of kernels that may begin before the kernel in front of them has ended (programmatic
// dependent launch, sm_90 and later): each calls LaunchDependents at its start (or, where it says so, when it
// has waited), so that the next one's blocks come as soon as there is room for them, and WaitForPrevious (kernels/device/bulk_copy.cuh) in
// every thread before it touches memory that other kernels write or read. On older devices, and behind
// work that is no kernel, it is a launch like any other.
#ifndef DRAFTMARK_KERNELS_DEVICE_DEPENDENT_LAUNCH_CUH_
#define DRAFTMARK_KERNELS_DEVICE_DEPENDENT_LAUNCH_CUH_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/status.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {

// A property of the current device; 0 if it cannot be told.
inline int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  const bool ok = cudaGetDevice(&device) == cudaSuccess &&
                  cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
  return ok ? value : 0;
}

// The current device's compute capability as in sm_90: 90.
inline int DeviceArch() {
  return DeviceAttribute(cudaDevAttrComputeCapabilityMajor) * 10 +
         DeviceAttribute(cudaDevAttrComputeCapabilityMinor);
}

// Whether the program holds code of this kernel for the current device that takes so many threads. Code for
// architectures without its instructions (sm_90 instead of sm_90a) is built for kNoThreads.
inline constexpr int kNoThreads = 32;
template <typename Kernel>
bool IsBuiltFor(Kernel* kernel, int threads) {
  cudaFuncAttributes attributes = {};
  if (cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) {
    return attributes.maxThreadsPerBlock >= threads;
  }
  (void)cudaGetLastError();  // not the next launch's
  return false;
}

// `cluster`: blocks of a cluster along x; more than one on sm_90 and later only. What the launch was
// answered, under the operation's name. Thread-safe.
template <typename... Parameters, typename... Arguments>
Status LaunchDependentClusters(std::string_view operation, void (*kernel)(Parameters...), dim3 grid,
                               dim3 block, std::size_t shared_bytes, unsigned cluster,
                               cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (DeviceAttribute(cudaDevAttrComputeCapabilityMajor) >= 9) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {cluster, 1, 1};
  }
  const cudaError_t error =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  if (error == cudaSuccess) return OkStatus();
  return CudaStatus(error, "launch of " + std::string(operation));
}

template <typename... Parameters, typename... Arguments>
Status LaunchDependent(std::string_view operation, void (*kernel)(Parameters...), dim3 grid,
                       dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                       Arguments&&... arguments) {
  return LaunchDependentClusters(operation, kernel, grid, block, shared_bytes, 1, stream,
                                 std::forward<Arguments>(arguments)...);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_DEPENDENT_LAUNCH_CUH_
