// The 16 greatest logits of each row (spec/drafter.md section 7.2), by descending value, ties by
// ascending id.
//
// NaN and what is not above -1e30 is no candidate; missing ones are (-1e30, id 0). The logits are
// not changed. A zero that is written is +0. INVALID_ARGUMENT for sizes, pointers or a workspace
// that cannot be. Common rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_TOP16_TOP16_H_
#define DRAFTMARK_KERNELS_TOP16_TOP16_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct Top16Args {
  const BFloat16* logits = nullptr;  // [rows, v]
  float* values = nullptr;           // [rows, 16]
  std::uint32_t* ids = nullptr;      // [rows, 16]
  std::int64_t rows = 0;
  std::int64_t v = 0;
  void* workspace = nullptr;  // Top16Traits::WorkspaceBytes
  std::uint64_t workspace_bytes = 0;
};

Status LaunchTop16(const Top16Args& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_TOP16_TOP16_H_
