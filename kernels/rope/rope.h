// Rotary position embedding in place (spec/drafter.md section 4.3).
//
// Element i < rotary / 2 of each head turns with element i + partner by the FP32 angle
// positions[row] * frequency[i]; sine and cosine with full range reduction, times `amplitude`; FP32
// inside, one rounding. `partner` is rotary / 2 for pairs within the rotary part, d / 2 for pairs
// across the head. Elements outside of the pairs keep their bits. INVALID_ARGUMENT for sizes or
// pointers that cannot be. Common rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_ROPE_ROPE_H_
#define DRAFTMARK_KERNELS_ROPE_ROPE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct RopeArgs {
  BFloat16* x = nullptr;                    // [rows, heads, d]
  const float* frequency = nullptr;         // [rotary / 2], radians for each position
  const std::int32_t* positions = nullptr;  // [rows]
  float amplitude = 1;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t d = 0;
  std::int64_t rotary = 0;   // even
  std::int64_t partner = 0;  // from rotary / 2 to d - rotary / 2
};

Status LaunchRope(const RopeArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROPE_ROPE_H_
