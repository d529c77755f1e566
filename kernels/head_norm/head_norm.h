// RMSNorm of each head, before RoPE (spec/drafter.md section 4.1), with one weight for all heads.
//
// FP32 inside, one rounding. y may be x. INVALID_ARGUMENT for sizes or pointers that cannot be.
// Common rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_HEAD_NORM_HEAD_NORM_H_
#define DRAFTMARK_KERNELS_HEAD_NORM_HEAD_NORM_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct HeadNormArgs {
  const BFloat16* x = nullptr;       // [rows, heads, d]
  const BFloat16* weight = nullptr;  // [d]
  float epsilon = 0;                 // of the config
  BFloat16* y = nullptr;             // [rows, heads, d]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t d = 0;
};

Status LaunchHeadNorm(const HeadNormArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_HEAD_NORM_HEAD_NORM_H_
