// Sums over lanes and blocks in a fixed order: the same bits in every run.
#ifndef DRAFTMARK_KERNELS_DEVICE_REDUCE_CUH_
#define DRAFTMARK_KERNELS_DEVICE_REDUCE_CUH_

#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;
inline constexpr int kWarp = 32;

// Over each `kLanes` neighbouring lanes (a power of two); every lane gets the sum. All lanes of the
// warp must call it.
template <int kLanes>
__device__ __forceinline__ float LaneSum(float value) {
  // In one of two orders, as the clock has it.
  if (DM_DEVICE_FAULT(kNondeterministicSum) && __shfl_sync(kAllLanes, clock() >> 3 & 1, 0) == 1) {
    for (int step = 1; step < kLanes; step *= 2) value += __shfl_xor_sync(kAllLanes, value, step);
    return value;
  }
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, step);
  }
  return value;
}

// Over a block of whole warps; every thread gets the sum. All threads must call it, and once per
// kernel: the shared memory is not guarded against a second use.
__device__ __forceinline__ float BlockSum(float value) {
  __shared__ float of_warp[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = LaneSum<kWarp>(value);
  if (warps == 1) return value;
  // Without the barrier a slow warp comes too late.
  if (DM_DEVICE_FAULT(kMissingBarrier) && warp > 0) __nanosleep(20000);
  if (lane == 0) of_warp[warp] = value;
  if (!DM_DEVICE_FAULT(kMissingBarrier)) __syncthreads();
  return LaneSum<kWarp>(lane < warps ? of_warp[lane] : 0.0f);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_REDUCE_CUH_
