// RMSNorm of heads: a few lanes of a warp for each head, no shared memory.
#ifndef DRAFTMARK_KERNELS_HEAD_NORM_SM80_HEAD_NORM_CUH_
#define DRAFTMARK_KERNELS_HEAD_NORM_SM80_HEAD_NORM_CUH_

#include <cstdint>

#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/head_norm/head_norm.h"

namespace draftmark::kernels {

template <bool kVector, int kLanes>
__global__ void HeadNormKernel(HeadNormArgs args) {
  const int d = static_cast<int>(args.d);
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t head = thread / kLanes;
  // Lanes without a head take part in the shuffles.
  const bool active = head < args.rows * args.heads;
  const int own = static_cast<int>(threadIdx.x) % kLanes * kChunk;
  const BFloat16* const x = args.x + (active ? head * args.d : 0);

  float held[kChunk];
  LoadChunk<kVector>(x + own, active ? d - own : 0, held);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kChunk; ++j) sum = fmaf(held[j], held[j], sum);
  for (int column = own + kLanes * kChunk; active && column < d; column += kLanes * kChunk) {
    float values[kChunk];
    LoadChunk<kVector>(x + column, d - column, values);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum = fmaf(values[j], values[j], sum);
  }
  const float scale = 1.0f / sqrtf(LaneSum<kLanes>(sum) / static_cast<float>(d) + args.epsilon);
  if (!active) return;

  for (int column = own; column < d; column += kLanes * kChunk) {
    if (column != own) LoadChunk<kVector>(x + column, d - column, held);
    float weight[kChunk];
    LoadChunk<kVector>(args.weight + column, d - column, weight);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) held[j] = held[j] * scale * weight[j];
    StoreChunk<kVector>(args.y + head * args.d + column, d - column, held);
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_HEAD_NORM_SM80_HEAD_NORM_CUH_
