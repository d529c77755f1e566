// The greedy walk over the candidates of each row (spec/drafter.md section 7.2).
//
// Row 0 of each band keeps its anchor; row t > 0 takes the best of its 16 candidates by
// values[t, k] + sum over r of predecessor[prev, r] * hidden[t, r] * successor[ids[t, k], r], in
// FP32, where prev is the token of row t - 1. Ties go to the smallest k; a NaN score is never taken;
// k = 0 where nothing exceeds -1e30. An id outside of the vocabulary scores NaN. INVALID_ARGUMENT
// for sizes or pointers that cannot be. Common rules of launchers: kernels/device/arguments.h.
// Thread-safe.
#ifndef DRAFTMARK_KERNELS_SELECTOR_WALK_SELECTOR_WALK_H_
#define DRAFTMARK_KERNELS_SELECTOR_WALK_SELECTOR_WALK_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct SelectorWalkArgs {
  const float* values = nullptr;           // [rows, 16]
  const std::uint32_t* ids = nullptr;      // [rows, 16]
  const BFloat16* hidden = nullptr;        // [rows, r]: the hidden projection
  const std::uint32_t* anchors = nullptr;  // [rows / band], anchor_step apart
  const BFloat16* predecessor = nullptr;   // [v, r]
  const BFloat16* successor = nullptr;     // [v, r]
  std::uint32_t* tokens = nullptr;         // [rows]
  float* scores = nullptr;                 // [rows - bands, 16]; may be null
  std::int64_t rows = 0;
  std::int64_t band = 0;  // divides rows
  std::int64_t v = 0;
  std::int64_t r = 0;
  std::int64_t anchor_step = 1;  // with `band`, anchors may be tokens themselves
};

Status LaunchSelectorWalk(const SelectorWalkArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SELECTOR_WALK_SELECTOR_WALK_H_
