// Adds a sublayer's output to the residual stream (spec/drafter.md section 4): x = rne(x + delta).
//
// One FP32 sum, one rounding. INVALID_ARGUMENT for sizes or pointers that cannot be. Common rules of
// launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_RESIDUAL_ADD_RESIDUAL_ADD_H_
#define DRAFTMARK_KERNELS_RESIDUAL_ADD_RESIDUAL_ADD_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct ResidualAddArgs {
  BFloat16* x = nullptr;            // [rows, width], read and written
  const BFloat16* delta = nullptr;  // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

Status LaunchResidualAdd(const ResidualAddArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_RESIDUAL_ADD_RESIDUAL_ADD_H_
