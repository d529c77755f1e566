// Matrix products of few rows: weights are read once for each kMostRows rows, eight lanes to an
// output, any width.
//
// Each row has its own sum in an order that depends on k alone: its bits are the same with other
// rows beside it or without, and in launches of any tile.
#ifndef DRAFTMARK_KERNELS_LINEAR_SM80_SKINNY_LINEAR_CUH_
#define DRAFTMARK_KERNELS_LINEAR_SM80_SKINNY_LINEAR_CUH_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/device/arguments.h"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/linear/linear_traits.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

struct SkinnyArgs {
  const BFloat16* x = nullptr;       // [rows, k], x_stride apart
  const BFloat16* weight = nullptr;  // [n, k]
  std::int64_t x_stride = 0;         // elements
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// Grid: (outputs / kOutputs, rows / kRows). `epilogue(row, output, sum)` runs once for each element.
template <int kRows, bool kVector, typename Epilogue>
__global__ void __launch_bounds__(LinearTraits::kThreads)
    SkinnyLinearKernel(SkinnyArgs args, Epilogue epilogue) {
  constexpr int kLanes = LinearTraits::kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t output =
      std::int64_t{blockIdx.x} * LinearTraits::kOutputs + static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kRows;
  const std::int64_t left = args.rows - first_row;
  const int rows = left < kRows ? static_cast<int>(left) : kRows;
  const int k = static_cast<int>(args.k);
  const bool active = output < args.n;  // all lanes take part in the sums below
  const BFloat16* const weight = args.weight + (active ? output * args.k : 0);
  const BFloat16* const x = args.x + first_row * args.x_stride;

  float sum[kRows] = {};
  constexpr int kStep = kLanes * kChunk;
  constexpr int kAhead = LinearTraits::kChunksAhead;
  for (int begin = lane * kChunk; active && begin < k; begin += kAhead * kStep) {
    // All weights of a round are asked for before the first is used.
    float w[kAhead][kChunk];
#pragma unroll
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      const int column = begin + ahead * kStep;
      if (column < k) LoadBegun<kVector>(weight + column, k - column, w[ahead]);
    }
#pragma unroll
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      const int column = begin + ahead * kStep;
      if (column >= k || (DM_DEVICE_FAULT(kMissingTail) && k - column < kChunk)) break;
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        // Rows past the last compute the first again: cheaper than a branch, and not written.
        const BFloat16* const own = x + (row < rows ? row : 0) * args.x_stride;
        float a[kChunk];
        LoadBegun<kVector>(own + column, k - column, a);
#pragma unroll
        for (int i = 0; i < kChunk; ++i) sum[row] = fmaf(w[ahead][i], a[i], sum[row]);
      }
    }
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const float total = LaneSum<kLanes>(sum[row]);
    if (lane == 0 && active && row < rows) epilogue(first_row + row, output, total);
  }
}

// Launches; the caller has checked the arguments (rows up to 65535) and asks for LaunchStatus.
template <typename Epilogue>
void LaunchSkinnyLinear(const SkinnyArgs& args, const Epilogue& epilogue, cudaStream_t stream) {
  constexpr int kThreads = LinearTraits::kThreads;
  WithBool(CanVectorise({args.x, args.weight}, {args.k, args.x_stride}), [&](auto vector) {
    constexpr bool kVector = decltype(vector)::value;
    const auto grid = [&](int rows) {
      return dim3(Blocks(args.n, LinearTraits::kOutputs), Blocks(args.rows, rows));
    };
    if (args.rows == 1) {
      SkinnyLinearKernel<1, kVector><<<grid(1), kThreads, 0, stream>>>(args, epilogue);
    } else if (args.rows == 2) {
      SkinnyLinearKernel<2, kVector><<<grid(2), kThreads, 0, stream>>>(args, epilogue);
    } else if (args.rows <= 4) {
      SkinnyLinearKernel<4, kVector><<<grid(4), kThreads, 0, stream>>>(args, epilogue);
    } else {
      SkinnyLinearKernel<LinearTraits::kMostRows, kVector>
          <<<grid(LinearTraits::kMostRows), kThreads, 0, stream>>>(args, epilogue);
    }
  });
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_LINEAR_SM80_SKINNY_LINEAR_CUH_
