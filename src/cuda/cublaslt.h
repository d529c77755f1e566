// BF16 matrix products by cuBLASLt: y = alpha * x * W^T (+ bias), row-major, FP32 accumulation.
//
//   DM_ASSIGN_OR_RETURN(const std::unique_ptr<CublasLt> gemm, CublasLt::Create());
//   DM_RETURN_IF_ERROR(gemm->Multiply({.x = x, .weight = w, .y = y, .rows = 16, .n = 4096,
//                                      .k = 2560, .workspace = ws, .workspace_bytes = bytes},
//                                     stream));
//
// The first call of a shape asks the library's heuristics for an algorithm and keeps it; later
// calls (and so captured ones) only launch. Algorithms that reduce in the output's type or with
// atomics are excluded: one rounding, and the same bits in every run. All memory is the caller's.
// Thread-safe; calls are serialised on the host. One device per object.
#ifndef DRAFTMARK_SRC_CUDA_CUBLASLT_H_
#define DRAFTMARK_SRC_CUDA_CUBLASLT_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {

enum class GemmOutput {
  kBf16,  // rounded once
  kF32,   // the accumulator, for an epilogue of one's own; without a bias
};

struct GemmArgs {
  const BFloat16* x = nullptr;       // [rows, k]
  const BFloat16* weight = nullptr;  // [n, k]
  const BFloat16* bias = nullptr;    // [n], added in FP32; may be null
  void* y = nullptr;                 // [rows, n], BF16 or FP32
  std::int64_t y_stride = 0;         // elements from row to row of y; 0: n
  // Products of the same x in one launch, each matrix and each result so many elements behind the one
  // before. More than one are without a bias.
  std::int64_t count = 1;
  std::int64_t weight_step = 0;
  std::int64_t y_step = 0;
  GemmOutput output = GemmOutput::kBf16;
  float alpha = 1;  // multiplies the accumulator, not the bias
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  void* workspace = nullptr;  // aligned to 256 bytes; its contents are lost
  std::uint64_t workspace_bytes = 0;
};

// What NVIDIA recommends as workspace on Hopper, and enough before it.
inline constexpr std::uint64_t kCublasLtWorkspaceBytes = std::uint64_t{32} << 20;

class CublasLt {
 public:
  // Opens the machine's library (cublaslt_library.h); UNAVAILABLE if there is none that fits.
  static StatusOr<std::unique_ptr<CublasLt>> Create();
  virtual ~CublasLt() = default;

  // INVALID_ARGUMENT for sizes below 1, null pointers, addresses and distances not aligned to 16 bytes,
  // distances below 0, a y_stride below n, or a bias on an FP32 output or with several products;
  // UNIMPLEMENTED if the library has no algorithm for the shape.
  virtual Status Multiply(const GemmArgs& args, cudaStream_t stream) = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_CUBLASLT_H_
