// Rotary embedding: a block holds the sines of one row and turns some of its heads.
#ifndef DRAFTMARK_KERNELS_ROPE_SM80_ROPE_CUH_
#define DRAFTMARK_KERNELS_ROPE_SM80_ROPE_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_traits.h"

namespace draftmark::kernels {

// Turns a pair; written so that every path contracts the same product.
__device__ __forceinline__ void Turn(float& a, float& b, float sine, float cosine) {
  const float turned = fmaf(a, cosine, -__fmul_rn(b, sine));
  b = fmaf(b, cosine, __fmul_rn(a, sine));
  a = turned;
}

template <bool kVector>
__global__ void __launch_bounds__(RopeTraits::kThreads) RopeKernel(RopeArgs args) {
  extern __shared__ float sines_and_cosines[];
  const int pairs = static_cast<int>(args.rotary / 2);
  const int thread = static_cast<int>(threadIdx.x);
  float* const sine = sines_and_cosines;
  float* const cosine = sines_and_cosines + pairs;

  // Angles of the row
  const std::int64_t row = blockIdx.x;
  const auto position = static_cast<float>(args.positions[row]);
  for (int i = thread; i < pairs; i += RopeTraits::kThreads) {
    // A product of its own, by rule: fused into the range reduction it would be another angle.
    const float angle = __fmul_rn(position, args.frequency[i]);
    float s = 0, c = 0;
    sincosf(angle, &s, &c);
    sine[i] = s * args.amplitude;
    cosine[i] = c * args.amplitude;
  }
  __syncthreads();

  // Heads
  constexpr int kStep = kVector ? kChunk : 1;
  const int steps = pairs / kStep;
  const int first_head = static_cast<int>(blockIdx.y) * RopeTraits::kHeads;
  const int left = static_cast<int>(args.heads) - first_head;
  const int heads = left < RopeTraits::kHeads ? left : RopeTraits::kHeads;
  for (int item = thread; item < heads * steps; item += RopeTraits::kThreads) {
    const int i = item % steps * kStep;
    BFloat16* const at = args.x + (row * args.heads + first_head + item / steps) * args.d + i;
    if constexpr (kVector) {
      float a[kChunk], b[kChunk];
      LoadChunk<true>(at, kChunk, a);
      LoadChunk<true>(at + args.partner, kChunk, b);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) Turn(a[j], b[j], sine[i + j], cosine[i + j]);
      StoreChunk<true>(at, kChunk, a);
      StoreChunk<true>(at + args.partner, kChunk, b);
    } else {
      float a = ToFloat(at[0]);
      float b = ToFloat(at[args.partner]);
      Turn(a, b, sine[i], cosine[i]);
      at[0] = Round(a);
      at[args.partner] = Round(b);
    }
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROPE_SM80_ROPE_CUH_
