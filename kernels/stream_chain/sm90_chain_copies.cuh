// What brings weights and rows into shared memory, and prepares the rows there.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_COPIES_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_COPIES_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/stream_chain/sm90_chain_step.cuh"

namespace draftmark::kernels {

// Where the next copy into the ring goes. For one thread.
template <int kRows>
class RingWriter {
 public:
  using Traits = StreamChainTraits;

  __device__ explicit RingWriter(const ChainMemory<kRows>& m) : m_(m) {}

  // Before stages of `bytes` each: how many may be on the way. A longer queue would not make the memory
  // faster, but hold up everything else that passes through it.
  __device__ void StagesOf(unsigned bytes) {
    bytes_ = bytes;
    most_ = min((Traits::kBytesOnTheWay - 1) / static_cast<int>(bytes), Traits::kMostOnTheWay);
  }
  // Waits for room, and for all but the last few copies to have come. Gives the stage; its barrier expects
  // `copied` bytes.
  __device__ unsigned char* Reserve(unsigned copied, std::uint64_t** full) {
#pragma unroll 1
    for (; place_.count() - come_ > most_; ++come_) WaitForStage(m_.b.full, come_);
    unsigned char* const stage = m_.ring + place_.Begin(bytes_);
    begin_ += place_.Gap(bytes_);
    const unsigned end = begin_ + bytes_;
    // Those whose place it takes must be used, and the one whose barriers.
#pragma unroll 1
    while (end > free_until_ || place_.count() - used_ == Traits::kStages) {
      WaitForStage(m_.b.empty, used_++);
      free_until_ = Traits::kRingBytes +
                    (used_ == place_.count() ? begin_ : m_.begins[used_ % Traits::kStages]);
    }
    m_.begins[place_.slot()] = begin_;
    begin_ = end;
    *full = &m_.b.full[place_.slot()];
    ArriveExpecting(*full, copied);
    place_.Advance(bytes_);
    return stage;
  }

 private:
  __device__ __forceinline__ static void WaitForStage(std::uint64_t* barriers, unsigned stage) {
    WaitFor(&barriers[stage % Traits::kStages], stage / Traits::kStages & 1u);
  }

  const ChainMemory<kRows>& m_;
  StagePlace place_;
  unsigned bytes_ = 0;  // of a stage
  unsigned begin_ = 0;  // bytes of the ring up to the next stage, in all its turns
  unsigned come_ = 0;   // stages that have come, at least
  unsigned used_ = 0;   // stages that are used, at least
  unsigned most_ = 0;
  unsigned free_until_ = Traits::kRingBytes;  // counted as begin_
};

// One thread: the weights of a step. They wait for nobody but for room.
template <int kRows>
__device__ void StreamWeights(const StreamStep& step, const StreamMaps& maps,
                              const ChainMemory<kRows>& m, RingWriter<kRows>& writer) {
  using Traits = StreamChainTraits;
  const StreamShare<kRows> share(step);
  const auto bytes = static_cast<unsigned>(StageRows(step) * Traits::kStageBlocks * 128);
  writer.StagesOf(bytes);
  for (int t = 0; t < share.tiles; ++t) {
    const StreamTile tile = TileOf(step, share.first_tile + t);
    const CUtensorMap* const map = &maps.parts[tile.part];
    for (int block = 0; block < share.blocks; block += Traits::kStageBlocks) {
      std::uint64_t* full = nullptr;
      unsigned char* const stage = writer.Reserve(bytes, &full);
      CopyTensor(stage, map, tile.row, tile.group, share.begin + block, full);
    }
  }
}

// One thread: waits for all blocks to have done the steps that this one needs, and tells the others.
template <int kRows>
__device__ void WaitForSteps(const unsigned* counters, int s, const ChainMemory<kRows>& m) {
  if (const int after = m.steps[s].after; after >= 0) WaitForCount(counters + after, gridDim.x);
  FenceGlobal();
  Arrive(&m.b.go[s]);
}

// One thread: the copies of a step's rows.
template <int kRows>
__device__ void StreamRows(const StreamStep& step, const StreamMaps& maps,
                           const ChainMemory<kRows>& m,
                           RingPlace<ChainMemory<kRows>::kGroups>& ring) {
  using Traits = StreamChainTraits;
  const StreamShare<kRows> share(step);
  const int arrivals = share.Arrivals();
  const bool norm = step.linear.norm_weight != nullptr;
  int group = 0;
#pragma unroll 1
  for (int i = 0; i < arrivals; ++i) {
    std::uint64_t* const there = norm ? &m.b.raw[ring.at] : &m.b.ready[ring.at];
    WaitFor(&m.b.used[ring.at], ring.parity ^ 1u);
    ArriveExpecting(there, Traits::kGroupBytes<kRows>);
    CopySharedTensor(m.Group(ring.at), &maps.rows, 0, share.begin + group * Traits::kGroupBlocks,
                     there);
    group = share.GroupAfter(group);
    ring.Advance();
  }
}

// A warpgroup: RMSNorm of the rows where they lie, one rounding. A thread has eight columns of a group's, and
// every other one of the rows; so it needs few weights, which are there before the rows.
template <int kRows>
class RowPreparer {
 public:
  using Traits = StreamChainTraits;

  __device__ RowPreparer(const StreamChainArgs& a, const ChainMemory<kRows>& m)
      : a_(a), m_(m), thread_(static_cast<int>(threadIdx.x) - Traits::kConsumers) {}

  __device__ void Run() {
    for (int s = 0; s < a_.count; ++s) {
      const StreamStep& step = m_.steps[s];
      const StreamShare<kRows> share(step);
      const int arrivals = step.tiles > 0 ? share.Arrivals() : 0;
      const bool works = arrivals > 0 && step.linear.norm_weight != nullptr;
      uint4 weights[kAhead];
      if (works) LoadWeights(step.linear, share, weights);
      WaitFor(&m_.b.go[s], 0);
      if (!works) {
        // Groups that need nothing count all the same.
        place_.Advance(arrivals);
        continue;
      }
      Scale(step.linear);
      int group = 0;
#pragma unroll 1
      for (int i = 0; i < arrivals; ++i) {
        const int slot = place_.at;
        // The first few groups' weights are at hand. Those of more columns, and of rows that come once more,
        // are loaded while the others are waited for: the fence below waits for loads, too.
        uint4 weight = weights[0];
#pragma unroll
        for (int ahead = 1; ahead < kAhead; ++ahead) {
          if (group == ahead) weight = weights[ahead];
        }
        if (group >= kAhead) weight = WeightOf(step.linear, share, group);
        WaitFor(&m_.b.raw[slot], raw_parity_ >> slot & 1u);
        raw_parity_ ^= 1u << slot;
        Normalise(step, share, group, i < share.groups, slot, weight);
        FenceShared();
        SyncThreads(kBarrier, Traits::kPreparers);
        if (thread_ == 0) Arrive(&m_.b.ready[slot]);
        group = share.GroupAfter(group);
        place_.Advance();
      }
    }
  }

 private:
  static constexpr int kBarrier = 2;
  static constexpr int kAhead = 6;                          // groups whose weights a thread holds
  static constexpr int kPieces = Traits::kGroupBlocks * 8;  // of eight columns, of a group
  static constexpr int kSharers = Traits::kPreparers / kPieces;  // of a piece's rows
  static constexpr int kOwn = kRows / kSharers;                  // rows

  __device__ int Row(int own) const { return thread_ / kPieces + own * kSharers; }
  // Of this thread; behind the last block of the share, nothing.
  __device__ int ColumnOf(const StreamShare<kRows>& share, int group) const {
    const int block = group * Traits::kGroupBlocks + thread_ % kPieces / 8;
    return block < share.blocks ? (share.begin + block) * Traits::kBlock + thread_ % 8 * 8 : -1;
  }

  // Zero behind the last block, where rows are zero, too, or not used.
  __device__ uint4 WeightOf(const StreamWork& a, const StreamShare<kRows>& share, int group) const {
    const int column = ColumnOf(share, group);
    return column >= 0 ? __ldg(reinterpret_cast<const uint4*>(a.norm_weight + column)) : uint4{};
  }
  __device__ void LoadWeights(const StreamWork& a, const StreamShare<kRows>& share,
                              uint4 (&weights)[kAhead]) const {
#pragma unroll
    for (int group = 0; group < kAhead; ++group) weights[group] = WeightOf(a, share, group);
  }

  // Four threads have a part of all rows, four rows each: everybody reads the same few lines at the same
  // time, so each of them is asked for once by a block.
  __device__ void Scale(const StreamWork& a) {
    constexpr int kQuads = static_cast<int>(Traits::kMostRows) / 4;
    constexpr int kStep = Traits::kPreparers / kQuads;  // parts
    constexpr int kAtOnce = 5;
    const int lane = thread_ % kWarp;
    const auto* const from = reinterpret_cast<const float4*>(a.norm_sums) + thread_ % kQuads;
    const int count = a.norm_parts;
    float sums[4] = {};
#pragma unroll 1
    for (int first = thread_ / kQuads; first < count; first += kAtOnce * kStep) {
      float4 parts[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int part = first + i * kStep;
        parts[i] = part < count ? __ldcg(from + part * kQuads) : float4{};
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        sums[0] += parts[i].x;
        sums[1] += parts[i].y;
        sums[2] += parts[i].z;
        sums[3] += parts[i].w;
      }
    }
#pragma unroll
    for (int step = kQuads; step < kWarp; step *= 2) {
#pragma unroll
      for (float& sum : sums) sum += __shfl_xor_sync(kAllLanes, sum, step);
    }
    if (lane < kQuads) {
      *reinterpret_cast<float4*>(m_.squares + thread_ / kWarp * Traits::kMostRows + lane * 4) =
          make_float4(sums[0], sums[1], sums[2], sums[3]);
    }
    SyncThreads(kBarrier, Traits::kPreparers);
    // Each warp finds all rows' by itself, a lane a row.
    const int row = lane % static_cast<int>(Traits::kMostRows);
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < Traits::kPreparers / kWarp; ++warp) {
      sum += m_.squares[warp * Traits::kMostRows + row];
    }
    const float scale =
        row < a.rows ? 1.0f / sqrtf(sum / static_cast<float>(a.k) + a.epsilon) : 0.0f;
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      scales_[own] = __shfl_sync(kAllLanes, scale, Row(own));
    }
    SyncThreads(kBarrier, Traits::kPreparers);  // they are read
  }

  // `new_columns`: the first time that this group of the step's rows comes.
  __device__ void Normalise(const StreamStep& step, const StreamShare<kRows>& share, int group,
                            bool new_columns, int slot, uint4 weights) const {
    unsigned char* const at = m_.Group(slot) + thread_ % kPieces / 8 * Traits::kRowBytes<kRows>;
    const StreamWork& a = step.linear;
    const int column = ColumnOf(share, group);
    const bool stored = a.normed != nullptr && new_columns && column >= 0 &&
                        blockIdx.x < static_cast<unsigned>(step.split);
    float weight[kChunk];
    Widen(weights, weight);
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int row = Row(own);
      auto* const place = reinterpret_cast<uint4*>(at + row * 128 + (thread_ % 8 ^ (row & 7)) * 16);
      float x[kChunk];
      Widen(*place, x);
#pragma unroll
      for (int c = 0; c < kChunk; ++c) x[c] = x[c] * scales_[own] * weight[c];
      const uint4 result = make_uint4(RoundPair(x[0], x[1]), RoundPair(x[2], x[3]),
                                      RoundPair(x[4], x[5]), RoundPair(x[6], x[7]));
      *place = result;
      if (stored && row < a.rows) {
        *reinterpret_cast<uint4*>(a.normed + std::int64_t{row} * a.k + column) = result;
      }
    }
  }

  const StreamChainArgs& a_;
  const ChainMemory<kRows>& m_;
  const int thread_;
  float scales_[kOwn] = {};  // of this thread's rows
  RingPlace<ChainMemory<kRows>::kGroups> place_;
  unsigned raw_parity_ = 0;  // a bit for each slot: only steps with a norm use that barrier
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_COPIES_CUH_
