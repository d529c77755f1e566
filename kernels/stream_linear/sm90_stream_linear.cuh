// Streaming linear layers: one block for each SM. Tiles of the weights flow into a ring of stages as
// fast as memory gives them; sixteen warps multiply, each its own block of 64 columns of every stage,
// with the rows' values of those columns in registers. The sixteen sums of a tile are added through
// shared memory, always in the same order.
//
// Fragments: the order of columns within a product does not matter as long as weights and rows agree,
// so a lane takes 16 neighbouring bytes of a weight row as its part of two products (m16n8k16). Lanes
// of one phase of a 16-byte read have weight rows four apart, which the copy's swizzle puts into
// different banks.
#ifndef DRAFTMARK_KERNELS_STREAM_LINEAR_SM90_STREAM_LINEAR_CUH_
#define DRAFTMARK_KERNELS_STREAM_LINEAR_SM90_STREAM_LINEAR_CUH_

#include <cuda.h>

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/tensor_core.cuh"
#include "kernels/device/values.cuh"
#include "kernels/stream_linear/stream_linear.h"
#include "kernels/stream_linear/stream_linear_traits.h"

namespace draftmark::kernels {

// What the launcher works out once.
struct StreamPlan {
  CUtensorMap maps[3];  // of the parts: [n, k] as [k / 64][n][64], boxes of a tile's rows and a chunk
  int tiles = 0;        // of all parts
  int tiles_of[3] = {};
  int of_block = 0;  // tiles of a block, neighbours
  int height = 0;    // outputs of a tile; of a pair, of each matrix
  int chunks = 0;    // of the inner dimension
  int held = 0;      // of a segment
};

// Where a tile lies.
struct StreamTile {
  int part = 0;
  int row = 0;  // first, in the part
};
__device__ __forceinline__ StreamTile TileOf(const StreamPlan& plan, int tile) {
  StreamTile at;
  while (tile >= plan.tiles_of[at.part]) tile -= plan.tiles_of[at.part++];
  at.row = tile * plan.height;
  return at;
}

// The weights of a block, chunk after chunk, on their way into the ring. One warp drives it; one lane
// does the work.
template <int kColumns, bool kPair>
class WeightStream {
 public:
  using Traits = StreamLinearTraits;
  static constexpr int kStages = Traits::kStages<kColumns>;

  // Tiles [first, last).
  __device__ WeightStream(const StreamPlan& plan, int first, int last, unsigned char* ring,
                          std::uint64_t* full, std::uint64_t* empty)
      : plan_(plan), ring_(ring), full_(full), empty_(empty), first_(first), last_(last),
        tile_(first), done_(first >= last) {
    end_ = min(plan.held, plan.chunks);
  }

  __device__ bool done() const { return done_; }

  // Starts the copy of the next chunk, once its stage is free.
  __device__ void Advance() {
    if (done_) return;
    const auto box =
        static_cast<unsigned>(plan_.height * Traits::kChunk) * unsigned{sizeof(BFloat16)};
    unsigned char* const stage = ring_ + stage_ * Traits::kStageBytes;
    WaitFor(&empty_[stage_], parity_ ^ 1u);
    ArriveExpecting(&full_[stage_], kPair ? 2 * box : box);
    if constexpr (kPair) {
      const int row = tile_ * plan_.height;
      CopyTensor(stage, &plan_.maps[0], row, chunk_ * Traits::kWarps, &full_[stage_]);
      CopyTensor(stage + Traits::kStageBytes / 2, &plan_.maps[1], row, chunk_ * Traits::kWarps,
                 &full_[stage_]);
    } else {
      const StreamTile at = TileOf(plan_, tile_);
      CopyTensor(stage, &plan_.maps[at.part], at.row, chunk_ * Traits::kWarps, &full_[stage_]);
    }
    if (++stage_ == kStages) {
      stage_ = 0;
      parity_ ^= 1u;
    }
    Next();
  }

 private:
  // Segments outside, tiles inside, chunks innermost.
  __device__ void Next() {
    if (++chunk_ < end_) return;
    chunk_ = begin_;
    if (++tile_ < last_) return;
    tile_ = first_;
    begin_ = end_;
    chunk_ = begin_;
    end_ = min(begin_ + plan_.held, plan_.chunks);
    done_ = begin_ >= plan_.chunks;
  }

  const StreamPlan& plan_;
  unsigned char* const ring_;
  std::uint64_t* const full_;
  std::uint64_t* const empty_;
  const int first_;
  const int last_;
  int tile_;
  bool done_;
  int begin_ = 0;  // chunks of the segment
  int end_ = 0;
  int chunk_ = 0;
  int stage_ = 0;
  unsigned parity_ = 0;
};

template <int kColumns, int kHeld>
struct StreamRows {
  using Traits = StreamLinearTraits;
  static constexpr int kColumnTiles = kColumns / 8;
  static constexpr int kHalves = Traits::kBlock / 32;  // of a block: two products each

  // [chunk][half][column tile]: eight neighbouring values of row g of the column tile.
  uint4 values[kHeld][kHalves][kColumnTiles];

  static __device__ int FirstColumn(int chunk, int half) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    return chunk * Traits::kChunk + warp * Traits::kBlock + half * 32 + lane % 4 * 8;
  }

  __device__ void Load(const StreamLinearArgs& a, int first_chunk, int chunks) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int c = 0; c < kHeld; ++c) {
#pragma unroll
      for (int h = 0; h < kHalves; ++h) {
#pragma unroll
        for (int n = 0; n < kColumnTiles; ++n) {
          const int column = FirstColumn(first_chunk + c, h);
          const int row = n * 8 + lane / 4;
          values[c][h][n] =
              c < chunks && column < a.k && row < a.rows
                  ? __ldcg(reinterpret_cast<const uint4*>(a.x + row * a.k + column))
                  : make_uint4(0, 0, 0, 0);
        }
      }
    }
  }

  // RMSNorm of the rows in place; `sums` is shared memory of [kWarps, kColumns].
  __device__ void Normalise(const StreamLinearArgs& a, float* sums) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
      float sum = 0;
#pragma unroll
      for (int c = 0; c < kHeld; ++c) {
#pragma unroll
        for (int h = 0; h < kHalves; ++h) {
          float wide[kChunk];
          Widen(values[c][h][n], wide);
#pragma unroll
          for (int i = 0; i < kChunk; ++i) sum = fmaf(wide[i], wide[i], sum);
        }
      }
      sum = LaneSum<4>(sum);
      if (lane % 4 == 0) sums[warp * kColumns + n * 8 + lane / 4] = sum;
    }
    __syncthreads();
    float scale[kColumnTiles];
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
      float total = 0;
      for (int w = 0; w < Traits::kWarps; ++w) total += sums[w * kColumns + n * 8 + lane / 4];
      scale[n] = 1.0f / sqrtf(total / static_cast<float>(a.k) + a.epsilon);
    }
    __syncthreads();  // the sums of the first tile go to the same place
#pragma unroll
    for (int c = 0; c < kHeld; ++c) {
#pragma unroll
      for (int h = 0; h < kHalves; ++h) {
        const int column = FirstColumn(c, h);
        float weight[kChunk] = {};
        if (column < a.k) Widen(*reinterpret_cast<const uint4*>(a.norm_weight + column), weight);
#pragma unroll
        for (int n = 0; n < kColumnTiles; ++n) {
          float wide[kChunk];
          Widen(values[c][h][n], wide);
#pragma unroll
          for (int i = 0; i < kChunk; ++i) wide[i] = wide[i] * scale[n] * weight[i];
          values[c][h][n] =
              make_uint4(RoundPair(wide[0], wide[1]), RoundPair(wide[2], wide[3]),
                         RoundPair(wide[4], wide[5]), RoundPair(wide[6], wide[7]));
          const int row = n * 8 + lane / 4;
          if (a.normed != nullptr && blockIdx.x == 0 && column < a.k && row < a.rows) {
            *reinterpret_cast<uint4*>(a.normed + row * a.k + column) = values[c][h][n];
          }
        }
      }
    }
  }
};

// The weight row of a tile's half that lanes with lane / 4 == g have: neighbours are four apart.
__device__ __forceinline__ int RowOfGroup(int g) { return g / 2 + g % 2 * 4; }

// acc[n] += this warp's block of one stage. Rows behind the tile's height hold what an earlier stage
// left, and end in sums that nobody reads.
template <int kColumnTiles, bool kPair>
__device__ __forceinline__ void MultiplyStage(const unsigned char* stage, int height,
                                              const uint4 (&rows)[2][kColumnTiles],
                                              float (&acc)[kColumnTiles][4]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // Lines of 128 bytes: [block of columns][row].
  const int low_line = warp * height + RowOfGroup(lane / 4);
  const int high_line = kPair ? low_line : low_line + 8;
  const unsigned char* const low_at = stage + low_line * 128;
  const unsigned char* const high_at =
      stage + high_line * 128 + (kPair ? StreamLinearTraits::kStageBytes / 2 : 0);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int piece = h * 4 + lane % 4;
    const uint4 low = *reinterpret_cast<const uint4*>(low_at + ((piece ^ (low_line & 7)) * 16));
    const uint4 high = *reinterpret_cast<const uint4*>(high_at + ((piece ^ (high_line & 7)) * 16));
    const std::uint32_t first[4] = {low.x, high.x, low.y, high.y};
    const std::uint32_t second[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
      MultiplyAdd(acc[n], first, rows[h][n].x, rows[h][n].y);
      MultiplyAdd(acc[n], second, rows[h][n].z, rows[h][n].w);
    }
  }
}

// What becomes of one sum: output `r` of the tile, row `n`.
template <StreamEpilogue kEpilogue>
__device__ __forceinline__ void FinishOne(const StreamLinearArgs& a, const StreamPlan& plan,
                                          int tile, int r, std::int64_t n, float sum) {
  const StreamTile at = TileOf(plan, tile);
  const StreamPart& to = a.parts[at.part];
  const std::int64_t output = at.row + r;
  if (output >= to.n) return;
  float z = to.bias != nullptr ? sum + ToFloat(to.bias[output]) : sum;
  if constexpr (kEpilogue == StreamEpilogue::kStore) {
    z *= a.multiplier;
    if (a.softcap > 0) z = a.softcap * tanhf(z / a.softcap);
  }
  const BFloat16 rounded = Round(z);
  to.y[n * to.n + output] = rounded;
  if constexpr (kEpilogue == StreamEpilogue::kResidual) {
    BFloat16* const stream = a.residual + n * to.n + output;
    *stream = Round(ToFloat(*stream) + ToFloat(rounded));
  }
}

// Adds the warps' sums of a tile, and stores.
template <int kColumns, StreamEpilogue kEpilogue>
__device__ void FinishTile(const StreamLinearArgs& a, const StreamPlan& plan, int tile,
                           const float* sums) {
  using Traits = StreamLinearTraits;
  constexpr int kTile = Traits::kTile;
  const int r = static_cast<int>(threadIdx.x) % kTile;
  const int n = static_cast<int>(threadIdx.x) / kTile;
  if (n >= kColumns) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < Traits::kWarps; ++w) {
    total += sums[(w * kColumns + n) * Traits::kSumPitch + r];
  }
  if constexpr (kEpilogue == StreamEpilogue::kSwiGlu) {
    // Outputs r and r + 8 of a tile are gate and up of the same column.
    const float up = __shfl_down_sync(kAllLanes, total, kTile / 2);
    const std::int64_t output = std::int64_t{tile} * plan.height + r;
    if (r < plan.height && n < a.rows && output < a.parts[0].n) {
      const float g = ToFloat(Round(total));
      const float u = ToFloat(Round(up));
      // e^-g is infinite for a gate below -88: the quotient is then -0, as it should be.
      a.parts[0].y[n * a.parts[0].n + output] = Round(g / (1.0f + expf(-g)) * u);
    }
  } else if (r < plan.height && n < a.rows) {
    FinishOne<kEpilogue>(a, plan, tile, r, n, total);
  }
}

// kTiles: sums of that many tiles stay in registers over the segments; 1 with a single segment, for
// any number of tiles.
template <int kColumns, int kHeld, int kTiles, bool kNorm, StreamEpilogue kEpilogue>
__global__ void __launch_bounds__(StreamLinearTraits::kThreads, 1)
    StreamLinearKernel(const __grid_constant__ StreamLinearArgs a,
                       const __grid_constant__ StreamPlan plan) {
  using Traits = StreamLinearTraits;
  using Rows = StreamRows<kColumns, kHeld>;
  constexpr bool kPair = kEpilogue == StreamEpilogue::kSwiGlu;
  constexpr int kStages = Traits::kStages<kColumns>;
  extern __shared__ unsigned char shared_memory[];
  __shared__ std::uint64_t full[kStages];
  __shared__ std::uint64_t empty[kStages];
  // The swizzle's pattern repeats every 1024 bytes.
  unsigned char* const ring =
      shared_memory + (1024 - SharedAddress(shared_memory) % 1024) % 1024;
  auto* const sums = reinterpret_cast<float*>(ring + kStages * Traits::kStageBytes);
  constexpr int kSums = Traits::kWarps * kColumns * Traits::kSumPitch;  // of one tile

  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      InitBarrier(&full[s], 1);
      InitBarrier(&empty[s], Traits::kWarps);
    }
    FenceBarriers();
  }
  __syncthreads();
  LaunchDependents();
  const int first_tile = static_cast<int>(blockIdx.x) * plan.of_block;
  const int last_tile = min(first_tile + plan.of_block, plan.tiles);
  WeightStream<kColumns, kPair> weights(plan, first_tile, last_tile, ring, full, empty);
  if (threadIdx.x == 0) {
    // Weights depend on nothing: they flow while the kernel before still runs.
    for (int s = 0; s < kStages; ++s) weights.Advance();
  }
  bool prefetched = false;
  const auto refill = [&] {
    weights.Advance();
    if (weights.done() && !prefetched) {
      prefetched = true;
      if (blockIdx.x < a.prefetch.blocks) {
        for (const void* const begin : a.prefetch.begin) {
          if (begin == nullptr) continue;
          PrefetchBulk(static_cast<const char*>(begin) + blockIdx.x * a.prefetch.stride,
                       a.prefetch.bytes);
        }
      }
    }
  };

  WaitForPrevious();
  Rows rows;
  int stage = 0;
  unsigned parity = 0;
  bool lags = false;  // one chunk behind, so that no warp waits for the others
  // acc += one tile's chunks of the held segment.
  const auto multiply = [&](int chunks, float(&acc)[Rows::kColumnTiles][4]) {
#pragma unroll
    for (int c = 0; c < kHeld; ++c) {
      if (c < chunks) {
        WaitFor(&full[stage], parity);
        MultiplyStage<Rows::kColumnTiles, kPair>(ring + stage * Traits::kStageBytes, plan.height,
                                                 rows.values[c], acc);
        __syncwarp();
        if (lane == 0) Arrive(&empty[stage]);
        if (threadIdx.x == 0 && lags) refill();
        __syncwarp();
        lags = true;
        if (++stage == kStages) {
          stage = 0;
          parity ^= 1u;
        }
      }
    }
  };
  const auto finish = [&](int tile, const float(&acc)[Rows::kColumnTiles][4]) {
    // c0, c1: output g of rows 2t and 2t + 1; c2, c3: output g + 8.
    float* const of_tile = sums + (tile & 1) * kSums;
#pragma unroll
    for (int n = 0; n < Rows::kColumnTiles; ++n) {
      float* const to = of_tile + (warp * kColumns + n * 8 + lane % 4 * 2) * Traits::kSumPitch +
                        RowOfGroup(lane / 4);
      to[0] = acc[n][0];
      to[Traits::kSumPitch] = acc[n][1];
      to[8] = acc[n][2];
      to[Traits::kSumPitch + 8] = acc[n][3];
    }
    __syncthreads();
    FinishTile<kColumns, kEpilogue>(a, plan, tile, of_tile);
  };

  if constexpr (kTiles == 1) {
    rows.Load(a, 0, plan.chunks);
    if constexpr (kNorm) rows.Normalise(a, sums);
    for (int tile = first_tile; tile < last_tile; ++tile) {
      float acc[Rows::kColumnTiles][4] = {};
      multiply(plan.chunks, acc);
      finish(tile, acc);
    }
  } else {
    float acc[kTiles][Rows::kColumnTiles][4] = {};
    for (int begin = 0; begin < plan.chunks; begin += plan.held) {
      const int chunks = min(plan.held, plan.chunks - begin);
      rows.Load(a, begin, chunks);
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        if (first_tile + t < last_tile) multiply(chunks, acc[t]);
      }
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (first_tile + t < last_tile) finish(first_tile + t, acc[t]);
    }
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_LINEAR_SM90_STREAM_LINEAR_CUH_
