#include "src/cuda/cuda_status.h"

#include "fmt/format.h"

namespace draftmark {
namespace {

StatusCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return StatusCode::kOk;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorStubLibrary:
      return StatusCode::kUnavailable;
    case cudaErrorMemoryAllocation:
      return StatusCode::kResourceExhausted;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDevice:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

Status CudaStatus(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return OkStatus();
  // Else the next kernel launch, which was good, would be taken for the one that failed.
  (void)cudaGetLastError();
  return Status(CodeOf(error), fmt::format("{}: {} ({})", call, cudaGetErrorName(error),
                                           cudaGetErrorString(error)));
}

}  // namespace draftmark
