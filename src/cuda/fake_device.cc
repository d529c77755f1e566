// What a program may ask the fake runtime's device.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "src/base/check.h"
#include "src/cuda/fake_calls.h"

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "fake");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  properties->totalGlobalMem = std::size_t{1} << 37;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
           : attribute == cudaDevAttrComputeCapabilityMinor ? 0
           : attribute == cudaDevAttrMultiProcessorCount    ? 132
                                                            : 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return draftmark::FakeCallFails("cudaFuncSetAttribute") ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t*) {
  *clusters = 66;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  if (draftmark::FakeCallFails("cudaGetDriverEntryPointByVersion"))
    return cudaErrorMemoryAllocation;
  DM_CHECK(std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0);
  const decltype(&cuTensorMapEncodeTiled) encode =
      [](CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
         const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
         CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
        *map = {};
        return CUDA_SUCCESS;
      };
  *function = reinterpret_cast<void*>(encode);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // extern "C"
