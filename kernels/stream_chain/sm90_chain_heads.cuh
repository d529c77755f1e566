// A heads step: RMSNorm and RoPE of each head of some rows, and their copies into the cache. By the
// consumers' warps.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_

#include <cstdint>

#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/stream_chain/sm90_chain_step.cuh"

namespace draftmark::kernels {

// One head of one row, by a warp; `values` is shared memory of kMostHeadDim floats.
__device__ __forceinline__ void FinishHead(const StreamHeads& a, std::int64_t row,
                                           std::int64_t head, float* values) {
  constexpr int kMost = StreamChainTraits::kMostHeadDim / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int d = static_cast<int>(a.d);
  const BFloat16* const x = a.x + row * a.x_stride + head * d;
  float own[kMost];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    const int column = lane + i * kWarp;
    const unsigned short bits =
        column < d ? __ldcg(reinterpret_cast<const unsigned short*>(x + column)) : 0;
    own[i] = FloatOf(bits);
    sum = fmaf(own[i], own[i], sum);
  }
  if (a.norm_weight != nullptr) {
    const float scale = 1.0f / sqrtf(LaneSum<kWarp>(sum) / static_cast<float>(d) + a.epsilon);
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int column = lane + i * kWarp;
      if (column >= d) continue;
      const BFloat16 rounded = Round(own[i] * scale * ToFloat(a.norm_weight[column]));
      own[i] = ToFloat(rounded);
    }
  }
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (lane + i * kWarp < d) values[lane + i * kWarp] = own[i];
  }
  __syncwarp();
  if (a.frequency != nullptr) {
    const auto position = static_cast<float>(__ldcg(a.positions + row));
    const int partner = static_cast<int>(a.partner);
    for (int i = lane; i < a.rotary / 2; i += kWarp) {
      float s = 0, c = 0;
      // A product of its own, by rule: fused into the range reduction it would be another angle.
      sincosf(__fmul_rn(position, a.frequency[i]), &s, &c);
      s *= a.amplitude;
      c *= a.amplitude;
      const float low = values[i];
      const float high = values[i + partner];
      values[i] = fmaf(low, c, -__fmul_rn(high, s));
      values[i + partner] = fmaf(high, c, __fmul_rn(low, s));
    }
    __syncwarp();
  }
  BFloat16* to_pool = nullptr;
  if (a.pool != nullptr) {
    const std::int64_t slot =
        a.slots64 != nullptr ? __ldcg(a.slots64 + row) : std::int64_t{__ldcg(a.slots32 + row)};
    if (slot >= 0 && slot < a.pool_slots) {
      to_pool = a.pool + (slot * a.heads + head) * d;
      if (a.slot_positions != nullptr && head == 0 && lane == 0) {
        a.slot_positions[slot] = __ldcg(a.positions + row);
      }
    }
  }
  for (int column = lane; column < d; column += kWarp) {
    const BFloat16 rounded = Round(values[column]);
    if (a.y != nullptr) a.y[row * a.y_stride + head * d + column] = rounded;
    if (to_pool != nullptr) to_pool[column] = rounded;
  }
  __syncwarp();
}

// `own`: the step's heads in shared memory. All consumers.
__device__ __forceinline__ void RunHeads(const StreamStep& step, const StreamHeads* own,
                                         float* shared) {
  constexpr int kWarps = StreamChainTraits::kConsumers / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  float* const values = shared + warp * StreamChainTraits::kMostHeadDim;
  // Vectors of all heads steps after each other, dealt to the warps of the grid.
  std::int64_t skipped = 0;
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarps;
  std::int64_t next = std::int64_t{warp} * gridDim.x + blockIdx.x;
  for (int i = 0; i < step.last_heads - step.first_heads; ++i) {
    const StreamHeads& heads = own[i];
    const std::int64_t count = heads.rows * heads.heads;
    for (; next < skipped + count; next += warps) {
      const std::int64_t vector = next - skipped;
      FinishHead(heads, vector / heads.heads, vector % heads.heads, values);
    }
    skipped += count;
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_
