// SwiGLU in place of the gate (spec/drafter.md section 4.6): gate = rne(g * sigmoid(g) * up).
//
// FP32 inside, no clamp, one rounding. INVALID_ARGUMENT for sizes or pointers that cannot be. Common
// rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_SILU_MUL_SILU_MUL_H_
#define DRAFTMARK_KERNELS_SILU_MUL_SILU_MUL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct SiluMulArgs {
  BFloat16* gate = nullptr;      // [rows, width], read and written
  const BFloat16* up = nullptr;  // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

Status LaunchSiluMul(const SiluMulArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SILU_MUL_SILU_MUL_H_
