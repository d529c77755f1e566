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
  // A chunk of x, to which delta is added, if there is one.
  const auto add = [&](int column, uint4 raw, uint4 raw_delta, float(&values)[kChunk]) {
    Widen(raw, values);
    if (args.delta == nullptr) return;
    float delta[kChunk];
    Widen(raw_delta, delta);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) values[j] = ToFloat(Round(values[j] + delta[j]));
    if (column < h) StoreChunk<kVector>(args.sum + row + column, h - column, values);
  };
  const auto load_delta = [&](int column) {
    return args.delta != nullptr ? LoadRaw<kVector>(args.delta + row + column, h - column)
                                 : uint4{};
  };

  // Sum of squares. All that is held is asked for before the first of it is added and stored: the sum may
  // go to where x is.
  float held[kHeld][kChunk];
  uint4 raw[kHeld], deltas[kHeld];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int column = (thread + i * threads) * kChunk;
    raw[i] = LoadRaw<kVector>(x + column, h - column);
    deltas[i] = load_delta(column);
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) add((thread + i * threads) * kChunk, raw[i], deltas[i], held[i]);
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum = fmaf(held[i][j], held[i][j], sum);
  }
  for (int column = (thread + kHeld * threads) * kChunk; column < h; column += threads * kChunk) {
    float values[kChunk];
    add(column, LoadRaw<kVector>(x + column, h - column), load_delta(column), values);
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
