// Answers of the CUDA runtime as Status.
//
//   DM_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&p, bytes), "cudaMalloc"));
#ifndef DRAFTMARK_SRC_CUDA_CUDA_STATUS_H_
#define DRAFTMARK_SRC_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include <string_view>

#include "src/base/status.h"

namespace draftmark {

// OK for cudaSuccess. Otherwise the message has the call, CUDA's name of the error and its
// sentence; the code is UNAVAILABLE when the machine lacks a driver, a device or code for it,
// RESOURCE_EXHAUSTED when memory ran out, INVALID_ARGUMENT for refused arguments, else INTERNAL.
Status CudaStatus(cudaError_t error, std::string_view call);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_CUDA_STATUS_H_
