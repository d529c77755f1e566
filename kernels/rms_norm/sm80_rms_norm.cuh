// RMSNorm: one block for each row, which stays in registers between the two passes; in front of it, if asked
// for, an addition to the row.
#ifndef DRAFTMARK_KERNELS_RMS_NORM_SM80_RMS_NORM_CUH_
#define DRAFTMARK_KERNELS_RMS_NORM_SM80_RMS_NORM_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm/rms_norm_traits.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

template <bool kVector>
__global__ void __launch_bounds__(RmsNormTraits::kMostThreads) RmsNormKernel(RmsNormArgs args) {
  LaunchDependents();
  constexpr int kHeld = RmsNormTraits::kHeldChunks;
  const int h = static_cast<int>(args.h);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  // Weights are no kernel's results: they are on their way before the kernel in front has ended.
  uint4 weights[RmsNormTraits::kUsualChunks] = {};
  if constexpr (kVector) {
#pragma unroll
    for (int i = 0; i < RmsNormTraits::kUsualChunks; ++i) {
      const int column = (thread + i * threads) * kChunk;
      if (column < h) weights[i] = *reinterpret_cast<const uint4*>(args.weight + column);
    }
  }
  WaitForPrevious();
  const std::int64_t row = blockIdx.x * args.h;
  const BFloat16* const x = args.x + row;
  BFloat16* const y = args.y + row;
  const auto load = [&](int column, float(&values)[kChunk]) {
    LoadChunk<kVector>(x + column, h - column, values);
    if (args.delta == nullptr) return;
    float delta[kChunk];
    LoadChunk<kVector>(args.delta + row + column, h - column, delta);
    for (int j = 0; j < kChunk; ++j) values[j] = ToFloat(Round(values[j] + delta[j]));
    if (column < h) StoreChunk<kVector>(args.sum + row + column, h - column, values);
  };

  // Sum of squares
  float held[kHeld][kChunk];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    load((thread + i * threads) * kChunk, held[i]);
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum = fmaf(held[i][j], held[i][j], sum);
  }
  for (int column = (thread + kHeld * threads) * kChunk; column < h; column += threads * kChunk) {
    float values[kChunk];
    load(column, values);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum = fmaf(values[j], values[j], sum);
  }
  if (DM_DEVICE_FAULT(kEpsilonConstant)) args.epsilon = 1e-6f;
  const float scale = 1.0f / sqrtf(BlockSum(sum) / static_cast<float>(h) + args.epsilon);

  // Output. What is held no more this thread has read, or written, itself.
  const BFloat16* const normed = args.delta == nullptr ? x : args.sum + row;
  if (DM_DEVICE_FAULT(kRedZoneWrite) && thread == 0) args.y[-1] = BFloat16{};
  const auto finish = [&](float(&values)[kChunk], float(&weight)[kChunk], int column) {
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      if (DM_DEVICE_FAULT(kNormPlusOne)) weight[j] += 1;
      values[j] = values[j] * scale * weight[j];
    }
    StoreChunk<kVector>(y + column, h - column, values);
  };
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int column = (thread + i * threads) * kChunk;
    if (column >= h) break;
    float weight[kChunk];
    if (kVector && i < RmsNormTraits::kUsualChunks) {
      Widen(weights[i < RmsNormTraits::kUsualChunks ? i : 0], weight);
    } else {
      LoadChunk<kVector>(args.weight + column, h - column, weight);
    }
    finish(held[i], weight, column);
  }
  for (int column = (thread + kHeld * threads) * kChunk; column < h; column += threads * kChunk) {
    float values[kChunk], weight[kChunk];
    LoadChunk<kVector>(normed + column, h - column, values);
    LoadChunk<kVector>(args.weight + column, h - column, weight);
    finish(values, weight, column);
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_RMS_NORM_SM80_RMS_NORM_CUH_
