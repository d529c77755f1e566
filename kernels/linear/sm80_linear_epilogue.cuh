// What follows the accumulator of a linear layer: bias, multiplier, softcap, the one rounding.
#ifndef DRAFTMARK_KERNELS_LINEAR_SM80_LINEAR_EPILOGUE_CUH_
#define DRAFTMARK_KERNELS_LINEAR_SM80_LINEAR_EPILOGUE_CUH_

#include <cstdint>

#include "kernels/device/candidates.cuh"
#include "kernels/device/values.cuh"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

struct LinearEpilogue {
  const BFloat16* bias = nullptr;
  float multiplier = 1;
  float softcap = 0;
  BFloat16* y = nullptr;
  std::int64_t n = 0;
  std::int64_t y_stride = 0;

  __device__ float Bent(float sum, std::int64_t output) const {
    float z = bias != nullptr ? sum + ToFloat(bias[output]) : sum;
    z *= multiplier;
    return softcap > 0 ? softcap * tanhf(z / softcap) : z;
  }
  __device__ void operator()(std::int64_t row, std::int64_t output, float sum) const {
    if (DM_DEVICE_FAULT(kStaleOutput) && row > 0 && output + 1 == n) return;
    // The mutant's head skips what the destructive top-16 of the propose before has marked.
    if (DM_DEVICE_FAULT(kLogitsLeftOverwritten) &&
        y[row * y_stride + output].bits == Round(kNoCandidate).bits) {
      return;
    }
    y[row * y_stride + output] = Round(Bent(sum, output));
  }
};

inline constexpr int kEpilogueThreads = 256;

// From FP32 accumulators [rows, n] of the library; n is a multiple of 8 and y aligned to 16 bytes.
__global__ void LinearEpilogueKernel(const float* sums, LinearEpilogue epilogue,
                                     std::int64_t chunks) {
  const std::int64_t chunk = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (chunk >= chunks) return;
  const std::int64_t first = chunk * kChunk;
  const std::int64_t output = first % epilogue.n;
  BFloat16* const y = epilogue.y + first / epilogue.n * epilogue.y_stride + output;
  const float4 low = *reinterpret_cast<const float4*>(sums + first);
  const float4 high = *reinterpret_cast<const float4*>(sums + first + 4);
  float values[kChunk] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) values[i] = epilogue.Bent(values[i], output + i);
  StoreChunk<true>(y, kChunk, values);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_LINEAR_SM80_LINEAR_EPILOGUE_CUH_
