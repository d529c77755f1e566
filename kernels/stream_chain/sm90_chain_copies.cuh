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

  // Before copies of at most `bytes` each: how many may be on the way. A longer queue would not make the
  // memory faster, but hold up everything else that passes through it.
  __device__ void CopiesOf(unsigned bytes) {
    most_ = min((Traits::kBytesOnTheWay - 1) / static_cast<int>(bytes), Traits::kStages - 1);
  }
  // Waits for room, and for all but the last few copies to have come. Gives the stage; its barrier expects
  // `bytes`.
  __device__ int Reserve(unsigned bytes, std::uint64_t** full) {
    for (; on_the_way_ > most_; --on_the_way_) {
      WaitFor(&m_.b.full[behind_.at], behind_.parity);
      behind_.Advance();
    }
    ++on_the_way_;
    const int stage = place_.at;
    *full = &m_.b.full[stage];
    WaitFor(&m_.b.empty[stage], place_.parity ^ 1u);
    ArriveExpecting(*full, bytes);
    place_.Advance();
    return stage;
  }

 private:
  const ChainMemory<kRows>& m_;
  RingPlace<Traits::kStages> place_, behind_;
  int on_the_way_ = 0;  // copies
  int most_ = 0;
};

// One thread: the weights of a step. They wait for nobody but for room.
template <int kRows>
__device__ void StreamWeights(const StreamStep& step, const StreamMaps& maps,
                              const ChainMemory<kRows>& m, RingWriter<kRows>& writer) {
  using Traits = StreamChainTraits;
  const StreamShare<kRows> share(step);
  const auto bytes = static_cast<unsigned>(StageRows(step) * Traits::kStageBlocks * 128);
  writer.CopiesOf(bytes);
  for (int t = 0; t < share.tiles; ++t) {
    const StreamTile tile = TileOf(step, share.first_tile + t);
    const CUtensorMap* const map = &maps.parts[tile.part];
    for (int block = 0; block < share.blocks; block += Traits::kStageBlocks) {
      std::uint64_t* full = nullptr;
      unsigned char* const stage = m.Weights(writer.Reserve(bytes, &full));
      CopyTensor(stage, map, tile.row, share.begin + block, full);
    }
  }
}

// One thread: waits for all blocks to have done the steps before, and tells the others.
template <int kRows>
__device__ void WaitForSteps(const unsigned* counter, int s, const ChainMemory<kRows>& m) {
  if (s > 0) {
    const unsigned wanted = static_cast<unsigned>(s) * gridDim.x;
    unsigned seen = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(seen) : "l"(counter) : "memory");
    } while (seen < wanted);
  }
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
  for (int i = 0; i < arrivals; ++i) {
    std::uint64_t* const there = norm ? &m.b.raw[ring.at] : &m.b.ready[ring.at];
    WaitFor(&m.b.used[ring.at], ring.parity ^ 1u);
    ArriveExpecting(there, Traits::kGroupBytes<kRows>);
    CopySharedTensor(m.Group(ring.at), &maps.rows, 0,
                     share.begin + i % share.groups * Traits::kGroupBlocks, there);
    ring.Advance();
  }
}

// A warpgroup: RMSNorm of the rows where they lie, one rounding.
template <int kRows>
class RowPreparer {
 public:
  using Traits = StreamChainTraits;

  __device__ RowPreparer(const StreamChainArgs& a, const ChainMemory<kRows>& m, float* scales)
      : a_(a),
        m_(m),
        scales_(scales),
        thread_(static_cast<int>(threadIdx.x) - Traits::kConsumers) {}

  __device__ void Run() {
    for (int s = 0; s < a_.count; ++s) {
      const StreamStep& step = m_.steps[s];
      const bool linear = step.tiles > 0;
      const StreamShare<kRows> share(step);
      const int arrivals = linear ? share.Arrivals() : 0;
      const bool works = arrivals > 0 && step.linear.norm_weight != nullptr;
      Weights weights;
      if (works) LoadWeights(step.linear, share, 0, weights);
      WaitFor(&m_.b.go[s], 0);
      if (!works) {
        // Groups that need nothing count all the same.
        place_.Advance(arrivals);
        continue;
      }
      Scale(step.linear);
      for (int i = 0; i < arrivals; ++i) {
        const int slot = place_.at;
        WaitFor(&m_.b.raw[slot], raw_parity_ >> slot & 1u);
        raw_parity_ ^= 1u << slot;
        Normalise(step, share, i, slot, weights);
        FenceShared();
        SyncThreads(kBarrier, Traits::kPreparers);
        if (thread_ == 0) Arrive(&m_.b.ready[slot]);
        place_.Advance();
        if (i + 1 < arrivals) LoadWeights(step.linear, share, i + 1, weights);
      }
    }
  }

 private:
  static constexpr int kBarrier = 2;
  // Eight threads have a row of a block; with eight rows, half of the threads have half of the blocks.
  static constexpr int kHalves = Traits::kPreparers / 8 / kRows;
  static constexpr int kOwn = Traits::kGroupBlocks / kHalves;
  struct Weights {
    uint4 of[kOwn];
  };

  __device__ int Piece() const { return thread_ % 8; }
  __device__ int Row() const { return thread_ / 8 % kRows; }
  __device__ int FirstBlock() const { return thread_ / 8 / kRows * kOwn; }
  // Of this thread; behind the last block of the share, nothing.
  __device__ int ColumnOf(const StreamShare<kRows>& share, int arrival, int own) const {
    const int block = arrival % share.groups * Traits::kGroupBlocks + FirstBlock() + own;
    return block < share.blocks ? (share.begin + block) * Traits::kBlock + Piece() * 8 : -1;
  }

  __device__ void LoadWeights(const StreamLinear& a, const StreamShare<kRows>& share, int arrival,
                              Weights& weights) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int column = ColumnOf(share, arrival, i);
      if (column >= 0) {
        weights.of[i] = __ldg(reinterpret_cast<const uint4*>(a.norm_weight + column));
      }
    }
  }

  // A warp adds the sums of squares of a row.
  __device__ void Scale(const StreamLinear& a) {
    constexpr int kWarps = Traits::kPreparers / kWarp;
    const int lane = thread_ % kWarp;
    float sums[kRows / kWarps] = {};
    // All loads at once: what they wait for is on the way to every row of the step.
    constexpr int kAtOnce = 5;
    for (int from = 0; from < a.norm_parts; from += kAtOnce * kWarp) {
      float parts[kRows / kWarps][kAtOnce];
#pragma unroll
      for (int i = 0; i < kRows / kWarps; ++i) {
        const int row = thread_ / kWarp + i * kWarps;
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          const int part = from + j * kWarp + lane;
          parts[i][j] = row < a.rows && part < a.norm_parts
                            ? __ldcg(a.norm_sums + row * a.norm_parts + part)
                            : 0.0f;
        }
      }
#pragma unroll
      for (int i = 0; i < kRows / kWarps; ++i) {
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) sums[i] += parts[i][j];
      }
    }
    SyncThreads(kBarrier, Traits::kPreparers);  // nobody reads the last step's scales any more
#pragma unroll
    for (int i = 0; i < kRows / kWarps; ++i) {
      const float sum = LaneSum<kWarp>(sums[i]);
      if (lane == 0) {
        scales_[thread_ / kWarp + i * kWarps] =
            1.0f / sqrtf(sum / static_cast<float>(a.k) + a.epsilon);
      }
    }
    SyncThreads(kBarrier, Traits::kPreparers);
  }

  __device__ void Normalise(const StreamStep& step, const StreamShare<kRows>& share, int arrival,
                            int slot, const Weights& weights) const {
    const StreamLinear& a = step.linear;
    const int row = Row();
    const float scale = scales_[row];
    unsigned char* const at =
        m_.Group(slot) + row * 128 + (Piece() ^ (row & 7)) * 16 + FirstBlock() * kRows * 128;
    const bool shows = a.normed != nullptr && blockIdx.x < static_cast<unsigned>(step.split) &&
                       row < a.rows && arrival < share.groups;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int column = ColumnOf(share, arrival, i);
      if (column < 0) continue;
      auto* const place = reinterpret_cast<uint4*>(at + i * kRows * 128);
      float x[kChunk], weight[kChunk];
      Widen(*place, x);
      Widen(weights.of[i], weight);
#pragma unroll
      for (int c = 0; c < kChunk; ++c) x[c] = x[c] * scale * weight[c];
      *place = make_uint4(RoundPair(x[0], x[1]), RoundPair(x[2], x[3]), RoundPair(x[4], x[5]),
                          RoundPair(x[6], x[7]));
      if (shows) *reinterpret_cast<uint4*>(a.normed + row * a.k + column) = *place;
    }
  }

  const StreamChainArgs& a_;
  const ChainMemory<kRows>& m_;
  float* const scales_;
  const int thread_;
  RingPlace<ChainMemory<kRows>::kGroups> place_;
  unsigned raw_parity_ = 0;  // a bit for each slot: only steps with a norm use that barrier
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_COPIES_CUH_
