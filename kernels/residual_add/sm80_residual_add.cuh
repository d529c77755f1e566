// Residual add: one thread for each chunk of 8 elements.
#ifndef DRAFTMARK_KERNELS_RESIDUAL_ADD_SM80_RESIDUAL_ADD_CUH_
#define DRAFTMARK_KERNELS_RESIDUAL_ADD_SM80_RESIDUAL_ADD_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/values.cuh"
#include "kernels/residual_add/residual_add.h"

namespace draftmark::kernels {

template <bool kVector>
__global__ void ResidualAddKernel(ResidualAddArgs args) {
  LaunchDependents();
  WaitForPrevious();
  // Rows are dense, so their borders do not matter: odd widths keep 16-byte access.
  const std::int64_t count = args.rows * args.width;
  const std::int64_t first = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kChunk;
  if (first >= count) return;
  const int here = count - first < kChunk ? static_cast<int>(count - first) : kChunk;
  float x[kChunk], delta[kChunk];
  LoadChunk<kVector>(args.x + first, here, x);
  LoadChunk<kVector>(args.delta + first, here, delta);
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    x[i] = x[i] + delta[i];
  }
  StoreChunk<kVector>(args.x + first, here, x);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_RESIDUAL_ADD_SM80_RESIDUAL_ADD_CUH_
