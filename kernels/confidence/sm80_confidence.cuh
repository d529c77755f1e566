// Confidence logits: one block for each row.
#ifndef DRAFTMARK_KERNELS_CONFIDENCE_SM80_CONFIDENCE_CUH_
#define DRAFTMARK_KERNELS_CONFIDENCE_SM80_CONFIDENCE_CUH_

#include <cstdint>

#include "kernels/confidence/confidence.h"
#include "kernels/confidence/confidence_traits.h"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"

namespace draftmark::kernels {

template <bool kVector>
__global__ void __launch_bounds__(ConfidenceTraits::kThreads)
    ConfidenceKernel(ConfidenceArgs args) {
  constexpr int kStep = ConfidenceTraits::kThreads * kChunk;
  const std::int64_t row = blockIdx.x;
  float sum = 0;
  const auto add = [&](const BFloat16* x, const BFloat16* weight, int width) {
    for (int column = static_cast<int>(threadIdx.x) * kChunk; column < width; column += kStep) {
      float a[kChunk], b[kChunk];
      LoadBegun<kVector>(x + column, width - column, a);
      LoadBegun<kVector>(weight + column, width - column, b);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum = fmaf(a[i], b[i], sum);
    }
  };
  add(args.hidden + row * args.row_step * args.h, args.proj, static_cast<int>(args.h));
  if (args.r > 0) {
    add(args.embedding + row * args.r, args.proj + args.h, static_cast<int>(args.r));
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) args.kappa[row * args.row_step] = Round(sum + ToFloat(args.bias[0]));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_CONFIDENCE_SM80_CONFIDENCE_CUH_
