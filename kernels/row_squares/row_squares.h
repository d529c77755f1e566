// The sum of squares of each row, FP32, for an RMSNorm that another kernel does (spec/drafter.md
// section 1): where the row comes from a kernel that does not leave it. The same bits in every run.
//
// INVALID_ARGUMENT for sizes or pointers that cannot be. Common rules of launchers:
// kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_ROW_SQUARES_ROW_SQUARES_H_
#define DRAFTMARK_KERNELS_ROW_SQUARES_ROW_SQUARES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct RowSquaresArgs {
  const BFloat16* x = nullptr;  // [rows, width]
  float* sums = nullptr;        // [rows]
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

Status LaunchRowSquares(const RowSquaresArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROW_SQUARES_ROW_SQUARES_H_
