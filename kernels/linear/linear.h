// Linear layers (spec/drafter.md sections 1, 5):
//   y = rne(cap * tanh((x W^T + bias) * multiplier / cap)), with softcap 0 rne((x W^T + bias) * m).
//
// FP32 accumulation; bias, multiplier and softcap act on the accumulator, which is rounded once.
// cuBLASLt multiplies where n and k are multiples of 8, the operands are aligned to 16 bytes and it
// has an algorithm; else the own kernel, which takes any shape, needs no workspace, and computes a
// row the same whatever other rows there are. Thread-safe.
//
//   LaunchLinear({.x = x, .weight = w, .y = y, .rows = 16, .n = 4096, .k = 2560,
//                 .workspace = ws, .workspace_bytes = bytes}, gemm.get(), stream);
//
// INVALID_ARGUMENT for sizes, pointers or (with a library) a workspace that cannot be. Common rules
// of launchers: kernels/device/arguments.h.
#ifndef DRAFTMARK_KERNELS_LINEAR_LINEAR_H_
#define DRAFTMARK_KERNELS_LINEAR_LINEAR_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/cuda/cublaslt.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct LinearArgs {
  const BFloat16* x = nullptr;       // [rows, k]
  const BFloat16* weight = nullptr;  // [n, k]
  const BFloat16* bias = nullptr;    // [n]; may be null
  BFloat16* y = nullptr;             // [rows, n]
  std::int64_t y_stride = 0;         // elements from row to row of y; 0: n
  float multiplier = 1;
  float softcap = 0;  // 0: none
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  void* workspace = nullptr;  // LinearTraits::WorkspaceBytes; unused without a library
  std::uint64_t workspace_bytes = 0;
};

// Whether the accumulators pass through memory in FP32 when the library multiplies.
bool NeedsEpilogue(const LinearArgs& args);

// `library` may be null: the own kernel computes everything.
Status LaunchLinear(const LinearArgs& args, CublasLt* library, cudaStream_t stream);

// Layers of the same input and sizes, from one's matrix, bias and result to the next so many elements (not
// negative); in one launch where the library takes them so, which can be other bits than by several. Layers
// without bias, softcap and multiplier go in one.
struct LinearSteps {
  std::int64_t count = 1;
  std::int64_t weight = 0;
  std::int64_t bias = 0;
  std::int64_t y = 0;
};
Status LaunchLinears(const LinearArgs& first, const LinearSteps& steps, CublasLt* library,
                     cudaStream_t stream);

// Two of them, wherever they lie.
Status LaunchLinearPair(const LinearArgs& first, const BFloat16* second_weight,
                        const BFloat16* second_bias, BFloat16* second_y, CublasLt* library,
                        cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_LINEAR_LINEAR_H_
