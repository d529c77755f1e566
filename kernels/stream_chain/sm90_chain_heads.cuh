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

// One of a row's sines and cosines, with the amplitude.
__device__ __forceinline__ float2 TurnOf(const StreamHeads& a, std::int32_t position, int pair) {
  float2 turn;
  // A product of its own, by rule: fused into the range reduction it would be another angle.
  sincosf(__fmul_rn(static_cast<float>(position), a.frequency[pair]), &turn.x, &turn.y);
  return make_float2(turn.x * a.amplitude, turn.y * a.amplitude);
}

// The row's slot; -1: not to the cache.
__device__ __forceinline__ std::int64_t SlotOfRow(const StreamHeads& a, std::int64_t row) {
  if (a.pool == nullptr) return -1;
  const std::int64_t slot =
      a.slots64 != nullptr ? __ldcg(a.slots64 + row) : std::int64_t{__ldcg(a.slots32 + row)};
  return slot < a.pool_slots ? slot : -1;
}

// Up to kWords * 32 elements, of which a lane has every 32nd. Behind d nothing.
template <int kWords>
__device__ __forceinline__ void LoadHeadWeight(const StreamHeads& a, float (&weight)[kWords]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const int column = lane + i * kWarp;
    if (column < static_cast<int>(a.d)) weight[i] = ToFloat(a.norm_weight[column]);
  }
}

// One head of one row, by a warp. `turn_of` gives the sine and cosine of the lane's pairs; `values` is shared
// memory of d floats.
template <int kWords, typename Turn>
__device__ __forceinline__ void FinishHead(const StreamHeads& a, std::int64_t row,
                                           std::int64_t head, const float (&weight)[kWords],
                                           const Turn& turn_of, std::int64_t slot,
                                           std::int32_t position, float* values) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int d = static_cast<int>(a.d);
  const BFloat16* const x = a.x + row * a.x_stride + head * d;
  float own[kWords];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const int column = lane + i * kWarp;
    const unsigned short bits =
        column < d ? __ldcg(reinterpret_cast<const unsigned short*>(x + column)) : 0;
    own[i] = FloatOf(bits);
    sum = fmaf(own[i], own[i], sum);
  }
  if (a.norm_weight != nullptr) {
    const float scale = 1.0f / sqrtf(LaneSum<kWarp>(sum) / static_cast<float>(d) + a.epsilon);
#pragma unroll
    for (int i = 0; i < kWords; ++i) own[i] = ToFloat(Round(own[i] * scale * weight[i]));
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    if (lane + i * kWarp < d) values[lane + i * kWarp] = own[i];
  }
  __syncwarp();
  if (a.frequency != nullptr) {
    const int partner = static_cast<int>(a.partner);
#pragma unroll
    for (int i = 0; i < kWords / 2; ++i) {
      const int pair = lane + i * kWarp;
      if (pair >= a.rotary / 2) break;
      const float2 turn = turn_of(i);
      const float low = values[pair];
      const float high = values[pair + partner];
      values[pair] = fmaf(low, turn.y, -__fmul_rn(high, turn.x));
      values[pair + partner] = fmaf(high, turn.y, __fmul_rn(low, turn.x));
    }
    __syncwarp();
  }
  BFloat16* const to_pool = slot >= 0 ? a.pool + (slot * a.heads + head) * d : nullptr;
  if (slot >= 0 && a.slot_positions != nullptr && head == 0 && lane == 0) {
    a.slot_positions[slot] = position;
  }
  BFloat16* const y = a.y != nullptr ? a.y + row * a.y_stride + head * d : nullptr;
  for (int column = lane; column < d; column += kWarp) {
    const BFloat16 rounded = Round(values[column]);
    if (y != nullptr) y[column] = rounded;
    if (to_pool != nullptr) to_pool[column] = rounded;
  }
  __syncwarp();
}

// One head of one row, by a warp of a chain. `values` is shared memory of kMostHeadDim floats.
class HeadFinisher {
 public:
  // What does not depend on the steps before, so that it is there when they have ended.
  __device__ __forceinline__ void Prepare(const StreamHeads& a, std::int64_t row,
                                          std::int64_t head) {
    heads_ = &a;
    row_ = row;
    head_ = head;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    slot_ = SlotOfRow(a, row);
    if (a.positions != nullptr) position_ = __ldcg(a.positions + row);
    if (a.norm_weight != nullptr) LoadHeadWeight(a, weight_);
    if (a.frequency != nullptr) {
#pragma unroll
      for (int i = 0; i < kMost / 2; ++i) {
        const int pair = lane + i * kWarp;
        if (pair >= a.rotary / 2) break;
        turns_[i] = TurnOf(a, position_, pair);
      }
    }
  }

  __device__ __forceinline__ void Run(float* values) const {
    FinishHead(
        *heads_, row_, head_, weight_, [this](int i) { return turns_[i]; }, slot_, position_,
        values);
  }

 private:
  static constexpr int kMost = StreamChainTraits::kMostHeadDim / kWarp;

  const StreamHeads* heads_ = nullptr;
  std::int64_t row_ = 0, head_ = 0;
  std::int64_t slot_ = -1;
  std::int32_t position_ = 0;
  float weight_[kMost] = {};
  float2 turns_[kMost / 2] = {};
};

// A heads step's vectors, after each other, dealt to the warps of the grid. `own`: its heads. For all
// consumers, for each vector: Prepare, then, when the steps before have ended, Run.
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
  // The vector that was prepared.
  __device__ __forceinline__ void Run(float* shared) const {
    finisher_.Run(shared + threadIdx.x / kWarp * StreamChainTraits::kMostHeadDim);
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
};
// Grid: (rows, which heads, groups of as many heads as a block has warps). A warp has one head of a row.
template <int kMostDim>
__global__ void __launch_bounds__(StreamChainTraits::kConsumers)
    HeadsKernel(const __grid_constant__ HeadsArgs args) {
  constexpr int kWarps = StreamChainTraits::kConsumers / kWarp;
  __shared__ float2 turns[kMostDim / 2];
  __shared__ float values[kWarps][kMostDim];
  const StreamHeads& a = args.heads[blockIdx.y];
  const std::int64_t row = blockIdx.x;
  const auto first = static_cast<int>(blockIdx.z) * kWarps;
  if (row >= a.rows || first >= static_cast<int>(a.heads)) return;
  float weight[kMostDim / kWarp] = {};
  if (a.norm_weight != nullptr) LoadHeadWeight(a, weight);
  WaitForPrevious();
  // Not before: attention behind this kernel reads what was complete when that one was (old_keys_complete).
  LaunchDependents();
  const std::int64_t slot = SlotOfRow(a, row);
  const std::int32_t position = a.positions != nullptr ? __ldcg(a.positions + row) : 0;
  if (a.frequency != nullptr) {
    for (int pair = static_cast<int>(threadIdx.x); pair < a.rotary / 2; pair += kWarps * kWarp) {
      turns[pair] = TurnOf(a, position, pair);
    }
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (first + warp >= static_cast<int>(a.heads)) return;
  FinishHead(
      a, row, first + warp, weight, [&](int i) { return turns[lane + i * kWarp]; }, slot, position,
      values[warp]);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_HEADS_CUH_
