// Streaming chains: one block for each SM, which stays for all steps. The weights of all linear steps
// flow into a ring of stages as fast as memory gives them. Rows come when all blocks have done the steps
// that this one needs, are normed in shared memory where a step asks for it, and two warpgroups multiply: each has
// every other stage, and the two sums of a tile are added behind the last one.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_STREAM_CHAIN_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_STREAM_CHAIN_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/cluster.cuh"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/device/warpgroup.cuh"
#include "kernels/stream_chain/sm90_chain_attention.cuh"
#include "kernels/stream_chain/sm90_chain_copies.cuh"
#include "kernels/stream_chain/sm90_chain_finish.cuh"
#include "kernels/stream_chain/sm90_chain_heads.cuh"
#include "kernels/stream_chain/sm90_chain_step.cuh"

namespace draftmark::kernels {

// By `threads` threads, before a barrier: from the arguments to shared memory, not through the cache of
// constants, which would read one word after the other.
template <typename T>
__device__ __forceinline__ void CopyArguments(const T* from, int count, T* to, int threads) {
  static_assert(sizeof(T) % 16 == 0);
  const int pieces = count * static_cast<int>(sizeof(T) / 16);
  for (int i = static_cast<int>(threadIdx.x); i < pieces; i += threads) {
    uint4 piece;
    asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(piece.x), "=r"(piece.y), "=r"(piece.z), "=r"(piece.w)
                 : "l"(reinterpret_cast<const uint4*>(from) + i));
    reinterpret_cast<uint4*>(to)[i] = piece;
  }
}

// Two warpgroups, which take turns with the stages of the ring.
template <int kRows>
class ChainConsumer {
 public:
  using Traits = StreamChainTraits;
  using Sums = float[kRows / 8][4];

  __device__ ChainConsumer(const StreamChainArgs& a, const ChainMemory<kRows>& m)
      : a_(a), m_(m), finisher_(m) {}

  __device__ void Run() {
    for (int s = 0; s < a_.count; ++s) {
      const StreamStep& step = m_.steps[s];
      if (step.attention >= 0) {
        RunAttention(m_.attentions[step.attention], s);
      } else if (step.tiles == 0) {
        RunHeads(step, s);
      } else {
        WaitFor(&m_.b.go[s], 0);
        RunLinear(step);
      }
      SyncThreads(kConsumerBarrier, Traits::kConsumers);
      if (threadIdx.x == 0) Done(s);
    }
  }

 private:
  __device__ void RunHeads(const StreamStep& step, int s) {
    // Where the other block's sums of tiles come, of which there are none now.
    static_assert(sizeof(StreamHeads) * Traits::kMostHeadSteps <= Traits::kSentBytes);
    auto* const heads = reinterpret_cast<StreamHeads*>(m_.sent);
    CopyArguments(a_.heads + step.first_heads, step.last_heads - step.first_heads, heads,
                  Traits::kConsumers);
    SyncThreads(kConsumerBarrier, Traits::kConsumers);
    HeadsRunner runner(heads, step.last_heads - step.first_heads);
    while (runner.Prepare()) {
      WaitFor(&m_.b.go[s], 0);
      runner.Run(m_.sums);
    }
    // Who has no vector must not say either that the step is done before it may begin.
    WaitFor(&m_.b.go[s], 0);
  }

  __device__ void RunAttention(const ChainAttention& attention, int s) {
    ChainWork first;
    if (static_cast<int>(blockIdx.x) < attention.works) {
      first = WorkOf(attention, static_cast<int>(blockIdx.x));
    }
    WaitFor(&m_.b.go[s], 0);
    if (attention.args.d == 64) {
      ChainAttender<kRows, 64>(attention, m_, a_.counters + Traits::kMostSteps)
          .Run(first, stage_, turn_, attended_);
    } else {
      ChainAttender<kRows, 128>(attention, m_, a_.counters + Traits::kMostSteps)
          .Run(first, stage_, turn_, attended_);
    }
    ++attended_;
  }

  // Tells all blocks; the last one to say so sets the counters back. Of who waits, the copy engine's threads
  // make what this releases known to that engine (WaitForSteps): a fence here would do it twice.
  __device__ void Done(int s) {
    if (a_.count == 1 && a_.items == 0) return;
    if (s + 1 < a_.count) {
      CountUp(a_.counters + s);
      return;
    }
    if (atomicAdd(a_.counters + s, 1u) + 1 == gridDim.x) {
      for (int i = 0; i <= s; ++i) atomicExch(a_.counters + i, 0u);
      for (int i = 0; i < a_.items; ++i) atomicExch(a_.counters + Traits::kMostSteps + i, 0u);
    }
  }

  __device__ void RunLinear(const StreamStep& step) {
    const StreamShare<kRows> share(step);
    finisher_.BeginStep(step);
    for (int t = 0; t < share.tiles; ++t) {
      Sums sums;
      // Rows that stay are waited for with the first tile, and given back with the last.
      const bool first = !share.stays || t == 0;
      const bool last = !share.stays || t + 1 == share.tiles;
      finisher_.LoadResidual(step, share.first_tile + t);
      MultiplyTile(step, share, first, last, sums);
      finisher_.Run(step, share.first_tile + t, sums);
    }
    finisher_.EndStep(step);
  }

  __device__ __forceinline__ void MultiplyTile(const StreamStep& step,
                                               const StreamShare<kRows>& share, bool first,
                                               bool last, Sums& sums) {
    constexpr unsigned kPattern = 1024;
    const bool leader = threadIdx.x % kWarp == 0;
    const std::uint32_t block_bytes = static_cast<std::uint32_t>(StageRows(step)) * 128;
    const std::uint32_t stage_bytes = Traits::kStageBlocks * block_bytes;
    const int own = OwnOfStages(stage_);
    int left = (share.blocks + Traits::kStageBlocks - 1) / Traits::kStageBlocks;  // stages
    RingPlace<ChainMemory<kRows>::kGroups> group = group_;
#pragma unroll
    for (auto& sum : sums) {
#pragma unroll
      for (float& value : sum) value = 0;
    }
    // Products of a stage run on while the next one's are started; then it is given back.
    int used_stage = -1, used_group = -1;
    const auto release = [&] {
      if (leader && used_stage >= 0) Arrive(&m_.b.empty[used_stage]);
      if (leader && used_group >= 0) Arrive(&m_.b.used[used_group]);
    };
#pragma unroll 1
    for (; left > 0; left -= Traits::kGroupStages) {
      if (first) WaitFor(&m_.b.ready[group.at], group.parity);
      const int stages = min(left, Traits::kGroupStages);
#pragma unroll 1
      for (int stage = 0; stage < stages; ++stage, stage_.Advance(stage_bytes)) {
        if (((stage ^ own) & 1) != 0) continue;
        WaitFor(&m_.b.full[stage_.slot()], stage_.parity());
        const std::uint64_t weights =
            Describe(SharedAddress(m_.ring) + stage_.Begin(stage_bytes), kPattern);
        const std::uint64_t rows =
            Describe(SharedAddress(m_.Group(group.at)) +
                         stage * Traits::kStageBlocks * Traits::kRowBytes<kRows>,
                     kPattern);
        // Straight code, or the compiler waits for each product. Behind the last block are zeros.
        WarpgroupArrive();
#pragma unroll
        for (int block = 0; block < Traits::kStageBlocks; ++block) {
#pragma unroll
          for (int k = 0; k < Traits::kBlock / 16; ++k) {
            WarpgroupMultiply(sums, Along(weights, block * block_bytes + k * 32),
                              Along(rows, block * Traits::kRowBytes<kRows> + k * 32));
          }
        }
        WarpgroupCommit();
        WarpgroupWait<1>();
        release();
        used_stage = stage_.slot();
        used_group = -1;
      }
      if (last && used_group >= 0) {
        // Nothing of this group was this warpgroup's.
        WarpgroupWait<0>();
        release();
        used_stage = -1;
      }
      if (last) used_group = group.at;
      group.Advance();
    }
    WarpgroupWait<0>();
    Settle(sums);
    release();
    if (last) group_ = group;
  }

  const StreamChainArgs& a_;
  const ChainMemory<kRows>& m_;
  TileFinisher<kRows> finisher_;
  StagePlace stage_;
  RingPlace<ChainMemory<kRows>::kGroups> group_;
  unsigned turn_ = 0;      // items of attention so far
  unsigned attended_ = 0;  // attention steps so far
};

// The thread that fills the ring.
template <int kRows>
__device__ void FillRing(const StreamChainArgs& a, const ChainMemory<kRows>& m) {
  RingWriter<kRows> writer(m);
  for (int s = 0; s < a.count; ++s) {
    const StreamStep& step = m.steps[s];
    if (step.attention >= 0) {
      // Kernels before may have written to the cache. Weights depend on nothing: they flow while the
      // kernel before still runs.
      WaitForPrevious();
      StreamKeys(m.attentions[step.attention], &a.maps[s].parts[0], s, m, writer);
    } else if (step.tiles > 0) {
      StreamWeights(step, a.maps[s], m, writer);
    }
  }
}

// The thread that starts steps, and brings their rows.
template <int kRows>
__device__ void StartSteps(const StreamChainArgs& a, const ChainMemory<kRows>& m) {
  RingPlace<ChainMemory<kRows>::kGroups> ring;
  unsigned turn = 0;
  for (int s = 0; s < a.count; ++s) {
    const StreamStep& step = m.steps[s];
    WaitForSteps(a.counters, s, m);
    if (step.attention >= 0) {
      StreamQueries(m.attentions[step.attention], &a.maps[s].rows, m, turn);
    } else if (step.tiles > 0) {
      StreamRows(step, a.maps[s], m, ring);
    }
  }
}

// A warp, a few barriers for each lane: all but those that the consumers' warps arrive on wait for one.
template <int kConsumerWarps, typename Barriers>
__device__ __forceinline__ void InitBarriers(Barriers& barriers) {
  const auto within = [](const std::uint64_t* barrier, const auto& all) {
    return barrier >= &all[0] && barrier < &all[0] + sizeof(all) / sizeof(all[0]);
  };
  auto* const first = reinterpret_cast<std::uint64_t*>(&barriers);
  constexpr int kCount = static_cast<int>(sizeof(Barriers) / sizeof(std::uint64_t));
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < kCount; i += kWarp) {
    std::uint64_t* const barrier = first + i;
    const bool consumers = within(barrier, barriers.used) || barrier == &barriers.queries_used;
    // A stage is one warpgroup's.
    const bool consumer = within(barrier, barriers.empty);
    InitBarrier(barrier, consumers ? kConsumerWarps : consumer ? kConsumerWarps / 2 : 1);
  }
}

// Launched in clusters of kCluster blocks.
template <int kRows>
__global__ void __launch_bounds__(DM_WARPGROUP ? StreamChainTraits::kThreads : kNoThreads, 1)
    StreamChainKernel([[maybe_unused]] const __grid_constant__ StreamChainArgs a) {
#if DM_WARPGROUP
  using Traits = StreamChainTraits;
  using Memory = ChainMemory<kRows>;
  // The swizzle's pattern repeats every 1024 bytes.
  extern __shared__ __align__(1024) unsigned char chain_memory[];
  unsigned char* const rows = chain_memory + Traits::kRingBytes;
  auto* const sums = reinterpret_cast<float*>(rows + Traits::kAllRowBytes);
  auto& rest = *reinterpret_cast<typename Memory::Rest*>(chain_memory + Traits::kBufferBytes);
  typename Memory::Barriers& barriers = rest.barriers;
  const Memory memory = {.steps = rest.steps,
                         .attentions = rest.attentions,
                         .ring = chain_memory,
                         .rows = rows,
                         .sums = sums,
                         .sent = sums + Traits::kSumBytes / 4,
                         .squares = rest.squares,
                         .begins = rest.begins,
                         .b = rest.barriers};
  static_assert(Traits::kSumBytes >= Traits::kConsumers / kWarp * Traits::kMostHeadDim * 4);
  constexpr int kConsumerWarps = Traits::kConsumers / kWarp;
  constexpr int kWeightsWarp = kConsumerWarps + Traits::kPreparers / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;

  LaunchDependents();
  CopyArguments(a.steps, a.count, rest.steps, Traits::kThreads);
  CopyArguments(a.attentions, Traits::kMostAttentions, rest.attentions, Traits::kThreads);
  if (warp == kWeightsWarp) {
    InitBarriers<kConsumerWarps>(barriers);
    FenceBarriers();
  }
  __syncthreads();
  // Nobody arrives on a barrier of a block that has not set it up.
  ClusterArrive();
  ClusterWait();

  if (warp >= kWeightsWarp) {
    GiveRegisters<Traits::kCopierRegisters>();
    if (warp == kWeightsWarp) {
      if (Elected()) FillRing<kRows>(a, memory);
    } else if (warp == kWeightsWarp + 1) {
      WaitForPrevious();
      if (Elected()) StartSteps<kRows>(a, memory);
    }
  } else if (warp >= kConsumerWarps) {
    GiveRegisters<Traits::kPreparerRegisters>();
    WaitForPrevious();
    RowPreparer<kRows>(a, memory).Run();
  } else {
    TakeRegisters<Traits::kConsumerRegisters>();
    WaitForPrevious();
    ChainConsumer<kRows>(a, memory).Run();
  }
#endif
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_STREAM_CHAIN_CUH_
