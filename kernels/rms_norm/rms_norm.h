// RMSNorm of whole rows (spec/drafter.md section 4.1): y = rne(x / sqrt(mean(x^2) + epsilon) * w).
//
// FP32 inside, one rounding; the weight multiplies as it is, not as 1 + w. y may be x. With delta the rows
// are sum = rne(x + delta) instead, which is kept as well (as kernels/residual_add does it): the same bits as
// by two kernels. sum may be x; y may be neither then.
// INVALID_ARGUMENT for sizes or pointers that cannot be. Common rules of launchers:
// kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_RMS_NORM_RMS_NORM_H_
#define DRAFTMARK_KERNELS_RMS_NORM_RMS_NORM_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct RmsNormArgs {
  const BFloat16* x = nullptr;       // [rows, h]
  const BFloat16* weight = nullptr;  // [h]
  float epsilon = 0;                 // of the config; never a constant
  BFloat16* y = nullptr;             // [rows, h]
  const BFloat16* delta = nullptr;   // [rows, h]; may be null
  BFloat16* sum = nullptr;           // [rows, h], with delta
  std::int64_t rows = 0;
  std::int64_t h = 0;
};

Status LaunchRmsNorm(const RmsNormArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_RMS_NORM_RMS_NORM_H_
