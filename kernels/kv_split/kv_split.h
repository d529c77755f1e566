// Takes the fused context projection apart (spec/drafter.md section 3.4).
//
// fused [rows, layers, 2, width] -> k [layers, rows, width] (K of all layers together, as k_norm and
// RoPE want it) and v [layers, rows, width]. The bits are copied as they are. INVALID_ARGUMENT for
// sizes or pointers that cannot be. Common rules of launchers: kernels/device/arguments.h.
// Thread-safe.
#ifndef DRAFTMARK_KERNELS_KV_SPLIT_KV_SPLIT_H_
#define DRAFTMARK_KERNELS_KV_SPLIT_KV_SPLIT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct KvSplitArgs {
  const BFloat16* fused = nullptr;  // [rows, layers, 2, width]
  BFloat16* k = nullptr;            // [layers, rows, width]
  BFloat16* v = nullptr;            // [layers, rows, width]; may be null: V stays
  std::int64_t rows = 0;
  std::int64_t layers = 0;
  std::int64_t width = 0;  // n_kv * d
};

Status LaunchKvSplit(const KvSplitArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_SPLIT_KV_SPLIT_H_
