// Streaming chains: one block for each SM, which stays for all steps. Tiles of the weights of all
// linear steps flow into a ring of stages as fast as memory gives them; sixteen warps multiply, each its own block of 64 columns of every stage,
// with the rows' values of those columns in registers. The sixteen sums of a tile are added through
// shared memory, always in the same order.
//
// Fragments: the order of columns within a product does not matter as long as weights and rows agree,
// so a lane takes 16 neighbouring bytes of a weight row as its part of two products (m16n8k16). Lanes
// of one phase of a 16-byte read have weight rows four apart, which the copy's swizzle puts into
// different banks.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_STREAM_CHAIN_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_STREAM_CHAIN_CUH_

#include <cuda.h>

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/tensor_core.cuh"
#include "kernels/device/values.cuh"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"

namespace draftmark::kernels {

// A linear step as the device sees it.
struct StreamStep {
  StreamLinear linear;
  CUtensorMap maps[3];  // of the parts: [n, k] as [k / 64][n][64], boxes of a tile's rows and a chunk
  int tiles = 0;        // of all parts; 0: a heads step
  int tiles_of[3] = {};
  int of_block = 0;  // tiles of a block, neighbours
  int height = 0;    // outputs of a tile; of a pair, of each matrix
  int chunks = 0;    // of the inner dimension
  int held = 0;      // of a segment
  int first_heads = 0;  // of a heads step
  int last_heads = 0;
};
struct StreamChainArgs {
  StreamStep steps[StreamChainTraits::kMostSteps];
  StreamHeads heads[StreamChainTraits::kMostHeadSteps];
  int count = 0;
  unsigned* counter = nullptr;
};

// Where a tile lies.
struct StreamTile {
  int part = 0;
  int row = 0;  // first, in the part
};
__device__ __forceinline__ StreamTile TileOf(const StreamStep& step, int tile) {
  StreamTile at;
  while (tile >= step.tiles_of[at.part]) tile -= step.tiles_of[at.part++];
  at.row = tile * step.height;
  return at;
}

// The weights of a block, chunk after chunk of step after step, on their way into the ring. One
// thread drives it.
template <int kColumns>
class WeightStream {
 public:
  using Traits = StreamChainTraits;
  static constexpr int kStages = Traits::kStages<kColumns>;

  // Lies in shared memory, where it takes no registers of those who do not drive it.
  __device__ void Start(unsigned char* ring, std::uint64_t* full, std::uint64_t* empty,
                        const StreamChainArgs& a) {
    ring_ = ring;
    full_ = full;
    empty_ = empty;
    stage_ = 0;
    parity_ = 0;
    Begin(a, 0);
  }

  // Starts the copy of the next chunk, once its stage is free.
  __device__ void Advance(const StreamChainArgs& a) {
    if (step_ >= a.count) return;
    const StreamStep& step = a.steps[step_];
    const bool pair = step.linear.epilogue == StreamEpilogue::kSwiGlu;
    const auto box =
        static_cast<unsigned>(step.height * Traits::kChunk) * unsigned{sizeof(BFloat16)};
    unsigned char* const stage = ring_ + stage_ * Traits::kStageBytes;
    WaitFor(&empty_[stage_], parity_ ^ 1u);
    ArriveExpecting(&full_[stage_], pair ? 2 * box : box);
    if (pair) {
      const int row = tile_ * step.height;
      CopyTensor(stage, &step.maps[0], row, chunk_ * Traits::kWarps, &full_[stage_]);
      CopyTensor(stage + Traits::kStageBytes / 2, &step.maps[1], row, chunk_ * Traits::kWarps,
                 &full_[stage_]);
    } else {
      const StreamTile at = TileOf(step, tile_);
      CopyTensor(stage, &step.maps[at.part], at.row, chunk_ * Traits::kWarps, &full_[stage_]);
    }
    if (++stage_ == kStages) {
      stage_ = 0;
      parity_ ^= 1u;
    }
    Next(a, step);
  }

 private:
  // The next step, from `step` on, in which this block has weights.
  __device__ void Begin(const StreamChainArgs& a, int step) {
    for (step_ = step; step_ < a.count; ++step_) {
      const StreamStep& at = a.steps[step_];
      first_ = static_cast<int>(blockIdx.x) * at.of_block;
      last_ = min(first_ + at.of_block, at.tiles);
      tile_ = first_;
      begin_ = 0;
      chunk_ = 0;
      end_ = min(at.held, at.chunks);
      if (first_ < last_) return;
    }
  }
  // Segments outside, tiles inside, chunks innermost.
  __device__ void Next(const StreamChainArgs& a, const StreamStep& step) {
    if (++chunk_ < end_) return;
    chunk_ = begin_;
    if (++tile_ < last_) return;
    tile_ = first_;
    begin_ = end_;
    chunk_ = begin_;
    end_ = min(begin_ + step.held, step.chunks);
    if (begin_ >= step.chunks) Begin(a, step_ + 1);
  }

  unsigned char* ring_;
  std::uint64_t* full_;
  std::uint64_t* empty_;
  int step_;
  int first_;
  int last_;
  int tile_;
  int begin_;  // chunks of the segment
  int end_;
  int chunk_;
  int stage_;
  unsigned parity_;
};

template <int kColumns, int kHeld>
struct StreamRows {
  using Traits = StreamChainTraits;
  static constexpr int kColumnTiles = kColumns / 8;
  static constexpr int kHalves = Traits::kBlock / 32;  // of a block: two products each

  // [chunk][half][column tile]: eight neighbouring values of row g of the column tile.
  uint4 values[kHeld][kHalves][kColumnTiles];

  static __device__ int FirstColumn(int chunk, int half) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    return chunk * Traits::kChunk + warp * Traits::kBlock + half * 32 + lane % 4 * 8;
  }

  __device__ void Load(const StreamLinear& a, int first_chunk, int chunks) {
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
  __device__ void Normalise(const StreamLinear& a, float* sums) {
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
        if (column < a.k) Widen(__ldg(reinterpret_cast<const uint4*>(a.norm_weight + column)), weight);
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
template <int kColumnTiles>
__device__ __forceinline__ void MultiplyStage(const unsigned char* stage, int height, bool pair,
                                              const uint4 (&rows)[2][kColumnTiles],
                                              float (&acc)[kColumnTiles][4]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // Lines of 128 bytes: [block of columns][row]; of a pair the second matrix lies half a stage on.
  constexpr int kHalfLines = StreamChainTraits::kStageBytes / 2 / 128;
  const int low_line = warp * height + RowOfGroup(lane / 4);
  const int high_line = low_line + (pair ? kHalfLines : 8);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int piece = h * 4 + lane % 4;
    const auto read = [&](int line) {
      return *reinterpret_cast<const uint4*>(stage + line * 128 + (piece ^ (line & 7)) * 16);
    };
    const uint4 low = read(low_line);
    const uint4 high = read(high_line);
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
__device__ __forceinline__ void FinishOne(const StreamStep& step, int tile, int r, std::int64_t n,
                                          float sum) {
  const StreamLinear& a = step.linear;
  const StreamTile at = TileOf(step, tile);
  const StreamPart& to = a.parts[at.part];
  const std::int64_t output = at.row + r;
  if (output >= to.n) return;
  float z = to.bias != nullptr ? sum + ToFloat(to.bias[output]) : sum;
  if (a.epilogue == StreamEpilogue::kStore) {
    z *= a.multiplier;
    if (a.softcap > 0) z = a.softcap * tanhf(z / a.softcap);
  }
  const BFloat16 rounded = Round(z);
  to.y[n * to.n + output] = rounded;
  if (a.epilogue == StreamEpilogue::kResidual) {
    BFloat16* const stream = a.residual + n * to.n + output;
    // Another SM may have written it in an earlier step: not from this one's L1.
    const auto before = __ldcg(reinterpret_cast<const unsigned short*>(stream));
    *stream = Round(FloatOf(before) + ToFloat(rounded));
  }
}

// Adds the warps' sums of a tile, and stores.
template <int kColumns>
__device__ void FinishTile(const StreamStep& step, int tile, const float* sums) {
  using Traits = StreamChainTraits;
  constexpr int kTile = Traits::kTile;
  const int r = static_cast<int>(threadIdx.x) % kTile;
  const int n = static_cast<int>(threadIdx.x) / kTile;
  if (n >= kColumns) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < Traits::kWarps; ++w) {
    total += sums[(w * kColumns + n) * Traits::kSumPitch + r];
  }
  const StreamLinear& a = step.linear;
  if (a.epilogue == StreamEpilogue::kSwiGlu) {
    // Outputs r and r + 8 of a tile are gate and up of the same column.
    const float up = __shfl_down_sync(kAllLanes, total, kTile / 2);
    const std::int64_t output = std::int64_t{tile} * step.height + r;
    if (r < step.height && n < a.rows && output < a.parts[0].n) {
      const float g = ToFloat(Round(total));
      const float u = ToFloat(Round(up));
      // e^-g is infinite for a gate below -88: the quotient is then -0, as it should be.
      a.parts[0].y[n * a.parts[0].n + output] = Round(g / (1.0f + expf(-g)) * u);
    }
  } else if (r < step.height && n < a.rows) {
    FinishOne(step, tile, r, n, total);
  }
}

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
      if (a.normed != nullptr) a.normed[(row * a.heads + head) * d + column] = rounded;
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
    const std::int64_t slot = a.slots64 != nullptr ? __ldcg(a.slots64 + row)
                                                   : std::int64_t{__ldcg(a.slots32 + row)};
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

__device__ __forceinline__ void RunHeads(const StreamChainArgs& a, const StreamStep& step,
                                         float* shared) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  float* const values = shared + warp * StreamChainTraits::kMostHeadDim;
  // Vectors of all heads steps after each other, dealt to the warps of the grid.
  std::int64_t skipped = 0;
  const std::int64_t warps = std::int64_t{gridDim.x} * StreamChainTraits::kWarps;
  std::int64_t next = std::int64_t{warp} * gridDim.x + blockIdx.x;
  for (int i = step.first_heads; i < step.last_heads; ++i) {
    const StreamHeads& heads = a.heads[i];
    const std::int64_t count = heads.rows * heads.heads;
    for (; next < skipped + count; next += warps) {
      const std::int64_t vector = next - skipped;
      FinishHead(heads, vector / heads.heads, vector % heads.heads, values);
    }
    skipped += count;
  }
}

// Waits until every block has come here `turn` times.
__device__ __forceinline__ void WaitForAllBlocks(unsigned* counter, unsigned turn) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1u);
    const unsigned wanted = turn * gridDim.x;
    unsigned seen = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(seen) : "l"(counter) : "memory");
    } while (seen < wanted);
  }
  __syncthreads();
}

// kHeld: chunks of rows in registers; kTiles: tiles of a block whose sums stay there over segments.
template <int kColumns, int kHeld, int kTiles>
__global__ void __launch_bounds__(StreamChainTraits::kThreads, 1)
    StreamChainKernel(const __grid_constant__ StreamChainArgs a) {
  using Traits = StreamChainTraits;
  using Rows = StreamRows<kColumns, kHeld>;
  constexpr int kStages = Traits::kStages<kColumns>;
  extern __shared__ unsigned char shared_memory[];
  __shared__ std::uint64_t full[kStages];
  __shared__ std::uint64_t empty[kStages];
  // The swizzle's pattern repeats every 1024 bytes.
  unsigned char* const ring = shared_memory + (1024 - SharedAddress(shared_memory) % 1024) % 1024;
  auto* const sums = reinterpret_cast<float*>(ring + kStages * Traits::kStageBytes);
  constexpr int kSums = Traits::kWarps * kColumns * Traits::kSumPitch;  // of one tile
  static_assert(2 * kSums >= Traits::kWarps * Traits::kMostHeadDim);

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
  __shared__ WeightStream<kColumns> weights;
  if (threadIdx.x == 0) {
    // Weights depend on nothing: they flow while the kernel before still runs.
    weights.Start(ring, full, empty, a);
    for (int s = 0; s < kStages; ++s) weights.Advance(a);
  }

  WaitForPrevious();
  Rows rows;
  int stage = 0;
  unsigned parity = 0;
  bool lags = false;  // the last stage is still to be refilled, so that no warp waits for the others
  const auto refill = [&] {
    if (threadIdx.x == 0 && lags) weights.Advance(a);
    __syncwarp();
  };
  // acc += one tile's chunks of the held segment.
  const auto multiply = [&](const StreamStep& step, int chunks,
                            float(&acc)[Rows::kColumnTiles][4]) {
    const bool pair = step.linear.epilogue == StreamEpilogue::kSwiGlu;
#pragma unroll
    for (int c = 0; c < kHeld; ++c) {
      if (c < chunks) {
        WaitFor(&full[stage], parity);
        MultiplyStage<Rows::kColumnTiles>(ring + stage * Traits::kStageBytes, step.height, pair,
                                          rows.values[c], acc);
        __syncwarp();
        if (lane == 0) Arrive(&empty[stage]);
        refill();
        lags = true;
        if (++stage == kStages) {
          stage = 0;
          parity ^= 1u;
        }
      }
    }
  };
  const auto finish = [&](const StreamStep& step, int tile,
                          const float(&acc)[Rows::kColumnTiles][4]) {
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
    FinishTile<kColumns>(step, tile, of_tile);
  };

  for (int s = 0; s < a.count; ++s) {
    const StreamStep& step = a.steps[s];
    if (s > 0) {
      // Nobody waits for a stage while the blocks wait for each other.
      refill();
      lags = false;
      WaitForAllBlocks(a.counter, static_cast<unsigned>(s));
    }
    if (step.tiles == 0) {
      RunHeads(a, step, sums);
      continue;
    }
    const int first_tile = static_cast<int>(blockIdx.x) * step.of_block;
    const int last_tile = min(first_tile + step.of_block, step.tiles);
    if (first_tile >= last_tile) continue;
    if (step.held >= step.chunks) {
      rows.Load(step.linear, 0, step.chunks);
      if (step.linear.norm_weight != nullptr) rows.Normalise(step.linear, sums);
      for (int tile = first_tile; tile < last_tile; ++tile) {
        float acc[Rows::kColumnTiles][4] = {};
        multiply(step, step.chunks, acc);
        finish(step, tile, acc);
      }
    } else {
      float acc[kTiles][Rows::kColumnTiles][4] = {};
      for (int begin = 0; begin < step.chunks; begin += step.held) {
        const int chunks = min(step.held, step.chunks - begin);
        rows.Load(step.linear, begin, chunks);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          if (first_tile + t < last_tile) multiply(step, chunks, acc[t]);
        }
      }
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        if (first_tile + t < last_tile) finish(step, first_tile + t, acc[t]);
      }
    }
  }
  if (a.count > 1 && threadIdx.x == 0) {
    // The last block to leave sets the counter back.
    const unsigned all = static_cast<unsigned>(a.count) * gridDim.x;
    if (atomicAdd(a.counter, 1u) + 1 == all) atomicExch(a.counter, 0u);
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_STREAM_CHAIN_CUH_
