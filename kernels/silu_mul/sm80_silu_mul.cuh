// SwiGLU: one thread for each chunk of 8 elements.
#ifndef DRAFTMARK_KERNELS_SILU_MUL_SM80_SILU_MUL_CUH_
#define DRAFTMARK_KERNELS_SILU_MUL_SM80_SILU_MUL_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/values.cuh"
#include "kernels/silu_mul/silu_mul.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

template <bool kVector>
__global__ void SiluMulKernel(SiluMulArgs args) {
  LaunchDependents();
  WaitForPrevious();
  // Rows are dense, so their borders do not matter: odd widths keep 16-byte access.
  const std::int64_t count = args.rows * args.width;
  const std::int64_t first = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kChunk;
  if (first >= count) return;
  const int here = count - first < kChunk ? static_cast<int>(count - first) : kChunk;
  float gate[kChunk], up[kChunk];
  LoadChunk<kVector>(args.gate + first, here, gate);
  LoadChunk<kVector>(args.up + first, here, up);
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (DM_DEVICE_FAULT(kSwigluClamped)) {
      gate[i] = fminf(gate[i], 10.0f);
      up[i] = fminf(fmaxf(up[i], -10.0f), 10.0f);
    }
    // e^-g is infinite for a gate below -88: the quotient is then -0, as it should be.
    gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
  }
  StoreChunk<kVector>(args.gate + first, here, gate);
  if (DM_DEVICE_FAULT(kWritePastEnd) && first == 0) args.gate[count] = BFloat16{};
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SILU_MUL_SM80_SILU_MUL_CUH_
