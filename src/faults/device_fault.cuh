// Fault switches in device code: DM_DEVICE_FAULT(kWrongScale) is false in products, and nothing of
// it is compiled (fault.h).
//
// In a faulty build each .cu file that includes this has a copy of the switch in device memory, and
// enters it in a list of the process. Call SetDeviceFaults once a device can be used, and before
// kernels run: it copies the process's fault (SetFault) there. Not thread-safe.
#ifndef DRAFTMARK_SRC_FAULTS_DEVICE_FAULT_CUH_
#define DRAFTMARK_SRC_FAULTS_DEVICE_FAULT_CUH_

#include "src/faults/fault.h"

#ifdef DRAFTMARK_FAULTS

#include "src/faults/device_switch.h"

#ifdef __CUDACC__

#include <cuda_runtime.h>

namespace draftmark {
namespace {

__device__ int device_fault;

// Before main, and only a pointer: no CUDA call yet.
const DeviceSwitch register_device_fault([](int fault) -> int {
  return static_cast<int>(cudaMemcpyToSymbol(device_fault, &fault, sizeof(fault)));
});

}  // namespace
}  // namespace draftmark

#define DM_DEVICE_FAULT(name) \
  (::draftmark::device_fault == static_cast<int>(::draftmark::Fault::name))

#endif

#else

namespace draftmark {

#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr bool
    NoDeviceFault(Fault) {
  return false;
}

}  // namespace draftmark

#define DM_DEVICE_FAULT(name) (::draftmark::NoDeviceFault(::draftmark::Fault::name))

#endif

#endif  // DRAFTMARK_SRC_FAULTS_DEVICE_FAULT_CUH_
