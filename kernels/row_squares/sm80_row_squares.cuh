// Sums of squares: one block for each row.
#ifndef DRAFTMARK_KERNELS_ROW_SQUARES_SM80_ROW_SQUARES_CUH_
#define DRAFTMARK_KERNELS_ROW_SQUARES_SM80_ROW_SQUARES_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/row_squares/row_squares.h"
#include "kernels/row_squares/row_squares_traits.h"

namespace draftmark::kernels {

template <bool kVector>
__global__ void __launch_bounds__(RowSquaresTraits::kThreads)
    RowSquaresKernel(RowSquaresArgs args) {
  LaunchDependents();
  WaitForPrevious();
  const BFloat16* const row = args.x + blockIdx.x * args.width;
  float sum = 0;
  for (std::int64_t first = std::int64_t{threadIdx.x} * kChunk; first < args.width;
       first += std::int64_t{blockDim.x} * kChunk) {
    float values[kChunk];
    LoadChunk<kVector>(row + first, static_cast<int>(min(args.width - first, std::int64_t{kChunk})),
                       values);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sum = fmaf(values[i], values[i], sum);
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) args.sums[blockIdx.x] = sum;
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROW_SQUARES_SM80_ROW_SQUARES_CUH_
