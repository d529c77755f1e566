// Puts the splits of each row and head together: one block for each.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_COMBINE_SPLITS_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_COMBINE_SPLITS_CUH_

#include <cstdint>

#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_paged_attention.cuh"

namespace draftmark::kernels {

inline constexpr float kLog2E = 1.4426950408889634f;

__global__ void __launch_bounds__(PagedAttentionTraits::kThreads)
    CombineSplitsKernel(PagedAttentionArgs args, AttentionLaunch launch, int splits) {
  __shared__ float weights[PagedAttentionTraits::kMostSplits];
  __shared__ float denominator;
  const std::int64_t result = blockIdx.x;
  if (threadIdx.x < kWarp) {
    const int split = static_cast<int>(threadIdx.x);
    const float2 stat =
        split < splits ? launch.stats[result * splits + split] : make_float2(-INFINITY, 0.0f);
    const float sink =
        args.sinks != nullptr ? ToFloat(args.sinks[result % args.heads]) * kLog2E : -INFINITY;
    float maximum = fmaxf(stat.x, sink);
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
      maximum = fmaxf(maximum, __shfl_xor_sync(kAllLanes, maximum, step));
    }
    const float base = maximum == -INFINITY ? 0.0f : maximum;
    // Exactly 0 is a split that saw nothing; NaN must go on.
    const float weight = stat.y == 0.0f ? 0.0f : exp2f(stat.x - base);
    const float total = LaneSum<kWarp>(weight * stat.y) + exp2f(sink - base);
    weights[split] = weight;
    if (split == 0) denominator = total;
  }
  __syncthreads();
  const bool empty = denominator == 0.0f;
  for (std::int64_t column = threadIdx.x; column < args.d; column += blockDim.x) {
    float sum = 0;
    for (int split = 0; split < splits; ++split) {
      if (weights[split] == 0.0f) continue;  // its partial sums may never have been written
      sum = fmaf(weights[split], launch.partial[(result * splits + split) * args.d + column], sum);
    }
    args.out[result * args.d + column] = Round(empty ? 0.0f : sum / denominator);
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_COMBINE_SPLITS_CUH_
