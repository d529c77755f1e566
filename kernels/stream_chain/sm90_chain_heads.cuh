// A heads step: RMSNorm and RoPE of each head of some rows, and their copies into the cache. By the
// consumers' warps; or by a kernel of its own, which every GPU runs.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/stream_chain/sm90_chain_step.cuh"

namespace draftmark::kernels {

// One head of one row, by a warp. `values` is shared memory of kMostHeadDim floats.
class HeadFinisher {
 public:
  // What does not depend on the steps before, so that it is there when they have ended.
  __device__ __forceinline__ void Prepare(const StreamHeads& a, std::int64_t row,
                                          std::int64_t head) {
    heads_ = &a;
    row_ = row;
    head_ = head;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int d = static_cast<int>(a.d);
    std::int64_t slot = -1;
    if (a.pool != nullptr) {
      slot = a.slots64 != nullptr ? __ldcg(a.slots64 + row) : std::int64_t{__ldcg(a.slots32 + row)};
    }
    if (a.positions != nullptr) position_ = __ldcg(a.positions + row);
    if (a.norm_weight != nullptr) {
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        const int column = lane + i * kWarp;
        if (column < d) weight_[i] = ToFloat(a.norm_weight[column]);
      }
    }
    if (a.frequency != nullptr) {
#pragma unroll
      for (int i = 0; i < kMost / 2; ++i) {
        const int pair = lane + i * kWarp;
        if (pair >= a.rotary / 2) break;
        // A product of its own, by rule: fused into the range reduction it would be another angle.
        sincosf(__fmul_rn(static_cast<float>(position_), a.frequency[pair]), &sine_[i],
                &cosine_[i]);
        sine_[i] *= a.amplitude;
        cosine_[i] *= a.amplitude;
      }
    }
    slot_ = slot < a.pool_slots ? slot : -1;
  }

  __device__ __forceinline__ void Run(float* values) const {
    const StreamHeads& a = *heads_;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int d = static_cast<int>(a.d);
    const BFloat16* const x = a.x + row_ * a.x_stride + head_ * d;
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
      for (int i = 0; i < kMost; ++i) own[i] = ToFloat(Round(own[i] * scale * weight_[i]));
    }
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (lane + i * kWarp < d) values[lane + i * kWarp] = own[i];
    }
    __syncwarp();
    if (a.frequency != nullptr) {
      const int partner = static_cast<int>(a.partner);
#pragma unroll
      for (int i = 0; i < kMost / 2; ++i) {
        const int pair = lane + i * kWarp;
        if (pair >= a.rotary / 2) break;
        const float low = values[pair];
        const float high = values[pair + partner];
        values[pair] = fmaf(low, cosine_[i], -__fmul_rn(high, sine_[i]));
        values[pair + partner] = fmaf(high, cosine_[i], __fmul_rn(low, sine_[i]));
      }
      __syncwarp();
    }
    BFloat16* const to_pool = slot_ >= 0 ? a.pool + (slot_ * a.heads + head_) * d : nullptr;
    if (slot_ >= 0 && a.slot_positions != nullptr && head_ == 0 && lane == 0) {
      a.slot_positions[slot_] = position_;
    }
    BFloat16* const y = a.y != nullptr ? a.y + row_ * a.y_stride + head_ * d : nullptr;
    for (int column = lane; column < d; column += kWarp) {
      const BFloat16 rounded = Round(values[column]);
      if (y != nullptr) y[column] = rounded;
      if (to_pool != nullptr) to_pool[column] = rounded;
    }
    __syncwarp();
  }

 private:
  static constexpr int kMost = StreamChainTraits::kMostHeadDim / kWarp;

  const StreamHeads* heads_ = nullptr;
  std::int64_t row_ = 0, head_ = 0;
  std::int64_t slot_ = -1;  // -1: not to the cache
  std::int32_t position_ = 0;
  float weight_[kMost] = {};
  float sine_[kMost / 2] = {}, cosine_[kMost / 2] = {};
};

// A heads step's vectors, after each other, dealt to the warps of the grid. `own`: its heads. For all
// consumers: Prepare, then, when the steps before have ended, Run.
class HeadsRunner {
 public:
  __device__ __forceinline__ HeadsRunner(const StreamHeads* own, int count)
      : own_(own), count_(count) {
    next_ = static_cast<std::int64_t>(threadIdx.x / kWarp) * gridDim.x + blockIdx.x;
  }
  // False behind the last vector.
  __device__ __forceinline__ bool Prepare() {
    for (; at_ < count_; ++at_) {
      const StreamHeads& heads = own_[at_];
      const std::int64_t vectors = heads.rows * heads.heads;
      const std::int64_t vector = next_ - skipped_;
      if (vector < vectors) {
        finisher_.Prepare(heads, vector / heads.heads, vector % heads.heads);
        next_ += std::int64_t{gridDim.x} * (StreamChainTraits::kConsumers / kWarp);
        return true;
      }
      skipped_ += vectors;
    }
    return false;
  }
  __device__ __forceinline__ void Run(bool prepared, float* shared) {
    float* const values = shared + threadIdx.x / kWarp * StreamChainTraits::kMostHeadDim;
    while (prepared) {
      finisher_.Run(values);
      prepared = Prepare();
    }
  }

 private:
  const StreamHeads* const own_;
  const int count_;
  int at_ = 0;
  std::int64_t skipped_ = 0;  // vectors of heads before
  std::int64_t next_ = 0;
  HeadFinisher finisher_;
};

struct HeadsArgs {
  StreamHeads heads[StreamChainTraits::kMostHeadsAlone];
  int count = 0;
};
__global__ void __launch_bounds__(StreamChainTraits::kConsumers)
    HeadsKernel(const __grid_constant__ HeadsArgs args) {
  __shared__ float values[StreamChainTraits::kConsumers / kWarp * StreamChainTraits::kMostHeadDim];
  LaunchDependents();
  WaitForPrevious();
  HeadsRunner runner(args.heads, args.count);
  runner.Run(runner.Prepare(), values);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_
