// Attention over one split of a band's keys: one block for 64 queries of a KV head.
//
// A query is a (row, head of the group) pair, so that a block reads each key once for the whole
// group. Keys and values arrive in tiles, the next one while one is worked on; each warp keeps its
// 16 queries' running maximum, denominator and sums to itself.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_PAGED_ATTENTION_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_PAGED_ATTENTION_CUH_

#include <cmath>
#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/tensor_core.cuh"
#include "kernels/device/values.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

// What a launch adds to its arguments.
struct AttentionLaunch {
  float2* stats = nullptr;   // [results, splits]: maximum (of scores in powers of two), denominator
  float* partial = nullptr;  // [results, splits, d]
  float scale = 0;           // AttentionScale
  bool vector = false;       // 16-byte access to q, the pools and out
};

// Scores in powers of two: log2(e) / sqrt(d).
inline float AttentionScale(std::int64_t d) {
  if (DM_FAULT(kHeadDimConstant)) d = 128;
  if (DM_FAULT(kWrongScale)) d *= d;
  return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(d)));
}

// Whether masks compare positions of keys, and not their logical indices.
__host__ __device__ inline bool UsesPositions(const PagedAttentionArgs& args) {
  return args.slot_positions != nullptr && (args.causal || args.window > 0);
}

// The keys that a block works on, the same for all its threads.
struct KeyRange {
  int begin = 0;  // of what any of its rows sees
  int end = 0;
  int first_tile = 0;  // of its split
  int last_tile = 0;   // behind the last one
};

// By logical indices, also where masks compare positions: then the range holds all that a row sees,
// and perhaps more, which Softmax masks. For row j at index i = q_offset + j and position
// p = q_rope_pos + j, and key m at position P(m):
//
//   m <= i: p - P(m) >= i - m >= 0, since positions ascend and a gap only adds to a distance.
//           Causal: seen by position, and in the range. Window: p - P(m) < window makes
//           i - m < window, so that no seen key lies before `begin`, which is the least of all rows.
//   m > i:  P(m) - p = m - i, since such a key is a block key (or a row's own, where the rows are all
//           that there is), and there is no gap behind row 0 of the block. So both ends, causal and
//           i + window, are those of the positions.
__device__ __forceinline__ KeyRange SeenKeys(const PagedAttentionArgs& args, int kv_len,
                                             int q_offset, int first_row, int last_row) {
  // 64 bits: a window may be as large as a position.
  std::int64_t begin = 0;
  std::int64_t end = kv_len;
  if (args.causal || DM_DEVICE_FAULT(kKeyLoopBoundedByTile)) {
    end = min(end, std::int64_t{q_offset} + last_row + 1);
  }
  if (args.window > 0) {
    begin = max(begin, q_offset + first_row - args.window + 1);
    if (!args.causal) end = min(end, q_offset + last_row + args.window);
  }
  KeyRange range;
  range.begin = static_cast<int>(min(begin, std::int64_t{kv_len}));
  range.end = static_cast<int>(max(end, std::int64_t{range.begin}));
  return range;
}

// With the tiles of this block's split.
template <int kKeys>
__device__ KeyRange RangeOf(const PagedAttentionArgs& args, int kv_len, int q_offset, int first_row,
                            int last_row) {
  KeyRange range = SeenKeys(args, kv_len, q_offset, first_row, last_row);
  const int first = range.begin / kKeys;
  const int last = range.end > range.begin ? (range.end + kKeys - 1) / kKeys : first;
  const int splits = static_cast<int>(gridDim.x);
  const int per_split = (last - first + splits - 1) / splits;
  range.first_tile = min(first + static_cast<int>(blockIdx.x) * per_split, last);
  range.last_tile = min(range.first_tile + per_split, last);
  return range;
}

// Starts copying a tile of keys and values; what lies outside of the range becomes zero.
template <int kHeadDim>
__device__ void LoadKeys(const PagedAttentionArgs& args, bool vector, const std::uint32_t* table,
                         int kv_head, const KeyRange& range, int tile, std::uint16_t* k_tile,
                         std::uint16_t* v_tile) {
  using Tile = PagedAttentionTraits::Tile<kHeadDim>;
  constexpr int kBlockRows = PagedAttentionTraits::kBlockRows;
  const int d = static_cast<int>(args.d);
  const int step = vector ? kChunk : 1;
  const int steps = vector ? kHeadDim / kChunk : kHeadDim;
  for (int item = static_cast<int>(threadIdx.x); item < Tile::kKeys * steps;
       item += PagedAttentionTraits::kThreads) {
    const int key = item / steps;
    const int column = item % steps * step;
    if (column >= d) continue;
    const int m = tile * Tile::kKeys + key;
    const bool valid = m >= range.begin && m < range.end;
    const std::int64_t slot =
        valid ? std::int64_t{table[m / kBlockRows]} * kBlockRows + m % kBlockRows : 0;
    const std::int64_t from = valid ? (slot * args.kv + kv_head) * args.d + column : 0;
    const int to = key * Tile::kStride + column;
    if (vector) {
      CopyAsync16(k_tile + to, args.k_pool + from, valid);
      CopyAsync16(v_tile + to, args.v_pool + from, valid);
    } else {
      k_tile[to] = valid ? args.k_pool[from].bits : 0;
      v_tile[to] = valid ? args.v_pool[from].bits : 0;
    }
  }
}

// Starts copying a tile's positions; 0 outside of the range.
template <int kKeys>
__device__ __forceinline__ void LoadPositions(const PagedAttentionArgs& args,
                                              const std::uint32_t* table, const KeyRange& range,
                                              int tile, std::int32_t* positions) {
  constexpr int kBlockRows = PagedAttentionTraits::kBlockRows;
  const int key = static_cast<int>(threadIdx.x);
  if (key >= kKeys) return;
  const int m = tile * kKeys + key;
  const bool valid = m >= range.begin && m < range.end;
  const std::int64_t slot =
      valid ? std::int64_t{table[m / kBlockRows]} * kBlockRows + m % kBlockRows : 0;
  CopyAsync4(positions + key, args.slot_positions + slot, valid);
}

// The `i`th of the query heads that read a KV head.
__device__ __forceinline__ int QueryHead(const PagedAttentionArgs& args, int kv_head, int i) {
  if (DM_DEVICE_FAULT(kGqaModulo)) return i * static_cast<int>(args.kv) + kv_head;
  return kv_head * static_cast<int>(args.heads / args.kv) + i;
}

// Copies the block's queries; rows behind the last and columns behind d become zero.
template <int kHeadDim>
__device__ void LoadQueries(const PagedAttentionArgs& args, bool vector, int kv_head,
                            int first_query, int queries, std::uint16_t* q_tile) {
  using Tile = PagedAttentionTraits::Tile<kHeadDim>;
  const int group = static_cast<int>(args.heads / args.kv);
  const int d = static_cast<int>(args.d);
  const int step = vector ? kChunk : 1;
  const int steps = kHeadDim / step;
  for (int item = static_cast<int>(threadIdx.x); item < PagedAttentionTraits::kQueries * steps;
       item += PagedAttentionTraits::kThreads) {
    const int query = first_query + item / steps;
    const int column = item % steps * step;
    const bool valid = query < queries && column < d;
    const std::int64_t row = blockIdx.z * args.rows + query / group;
    const std::int64_t from =
        valid ? (row * args.heads + QueryHead(args, kv_head, query % group)) * args.d + column : 0;
    std::uint16_t* const to = q_tile + item / steps * Tile::kStride + column;
    // NaN in the mutant's rows behind the last.
    const bool padding_is_nan = DM_DEVICE_FAULT(kPaddedRowsPropagate) && query >= queries;
    const std::uint32_t none = padding_is_nan ? 0xFFFFFFFFu : 0;
    if (vector) {
      *reinterpret_cast<uint4*>(to) = valid ? *reinterpret_cast<const uint4*>(args.q + from)
                                            : make_uint4(none, none, none, none);
    } else {
      *to = valid ? args.q[from].bits : static_cast<std::uint16_t>(none);
    }
  }
}

// Two neighbouring elements of a tile in shared memory.
__device__ __forceinline__ std::uint32_t Pair(const std::uint16_t* tile, int at) {
  return *reinterpret_cast<const std::uint32_t*>(tile + at);
}

// Splits two probabilities into BF16 pairs: `high`, and in `low` what it leaves over.
__device__ __forceinline__ void SplitPair(float first, float second, std::uint32_t& high,
                                          std::uint32_t& low) {
  high = RoundPair(first, second);
  low = RoundPair(first - FloatOf(high & 0xFFFFu), second - FloatOf(high >> 16));
}

// Of a mutant: one maximum for all 16 queries of a warp, which a NaN of any of them does not leave.
template <int kKeyGroups>
__device__ void ShareMaximum(const float (&scores)[kKeyGroups][4], float (&of_tile)[2]) {
  float most = fmaxf(of_tile[0], of_tile[1]);
  for (int keys = 0; keys < kKeyGroups; ++keys) {
    for (int i = 0; i < 4; ++i) {
      if (isnan(scores[keys][i])) most = scores[keys][i];
    }
  }
  for (int lanes = 1; lanes < kWarp; lanes *= 2) {
    const float other = __shfl_xor_sync(kAllLanes, most, lanes);
    if (other > most || isnan(other)) most = other;
  }
  of_tile[0] = of_tile[1] = most;
}

// One warp's 16 queries: queries g and g + 8 of it belong to a lane (g = lane / 4).
template <int kHeadDim>
struct WarpQueries {
  using Tile = PagedAttentionTraits::Tile<kHeadDim>;
  static constexpr int kKeyGroups = Tile::kKeys / 8;
  static constexpr int kDepth = kHeadDim / 16;

  const std::uint16_t* q = nullptr;  // first of the 16 rows in shared memory
  std::uint32_t held[Tile::kHoldQueries ? kDepth : 1][4];
  float sums[kHeadDim / 8][4];
  float maximum[2] = {-INFINITY, -INFINITY};
  float denominator[2] = {0, 0};  // of this lane's keys
  int row[2] = {0, 0};

  __device__ void Fragment(int depth, std::uint32_t (&a)[4]) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int at = lane / 4 * Tile::kStride + depth * 16 + lane % 4 * 2;
    a[0] = Pair(q, at);
    a[1] = Pair(q, at + 8 * Tile::kStride);
    a[2] = Pair(q, at + 8);
    a[3] = Pair(q, at + 8 * Tile::kStride + 8);
  }

  __device__ void Start() {
#pragma unroll
    for (auto& sum : sums) {
#pragma unroll
      for (float& value : sum) value = 0;
    }
    if constexpr (Tile::kHoldQueries) {
#pragma unroll
      for (int depth = 0; depth < kDepth; ++depth) Fragment(depth, held[depth]);
    }
  }

  __device__ void Scores(const std::uint16_t* k_tile, float (&scores)[kKeyGroups][4]) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (auto& score : scores) {
#pragma unroll
      for (float& value : score) value = 0;
    }
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      std::uint32_t a[4];
      if constexpr (Tile::kHoldQueries) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = held[depth][i];
      } else {
        Fragment(depth, a);
      }
#pragma unroll
      for (int keys = 0; keys < kKeyGroups; ++keys) {
        const int at = (keys * 8 + lane / 4) * Tile::kStride + depth * 16 + lane % 4 * 2;
        MultiplyAdd(scores[keys], a, Pair(k_tile, at), Pair(k_tile, at + 8));
      }
    }
  }

  // Scales and masks the scores, and turns them into probabilities relative to the new maximum.
  // Row 0 stands at `first`; the tile's keys at `positions`, or else at their logical indices.
  template <bool kPositions>
  __device__ void Softmax(const PagedAttentionArgs& args, float scale, int first,
                          const std::int32_t* positions, const KeyRange& range, int tile,
                          float (&scores)[kKeyGroups][4]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bool causal = args.causal;
    const auto window = static_cast<int>(args.window);
    float of_tile[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int keys = 0; keys < kKeyGroups; ++keys) {
      int2 pair = {};  // positions of this lane's two keys
      if constexpr (kPositions) {
        pair = *reinterpret_cast<const int2*>(positions + keys * 8 + lane % 4 * 2);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int m = tile * Tile::kKeys + keys * 8 + lane % 4 * 2 + i % 2;
        const int position = !kPositions ? m : i % 2 == 0 ? pair.x : pair.y;
        const int distance = first + row[i / 2] - position;
        const bool seen = m >= range.begin && m < range.end && (!causal || distance >= 0) &&
                          (window == 0 || (distance < window && -distance < window));
        scores[keys][i] = seen ? scores[keys][i] * scale : -INFINITY;
        of_tile[i / 2] = fmaxf(of_tile[i / 2], scores[keys][i]);
      }
    }
    if (DM_DEVICE_FAULT(kPaddedRowsPropagate)) ShareMaximum(scores, of_tile);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // The four lanes of a query
      of_tile[half] = fmaxf(of_tile[half], __shfl_xor_sync(kAllLanes, of_tile[half], 1));
      of_tile[half] = fmaxf(of_tile[half], __shfl_xor_sync(kAllLanes, of_tile[half], 2));
      float after = fmaxf(maximum[half], of_tile[half]);
      if (DM_DEVICE_FAULT(kPaddedRowsPropagate) && isnan(of_tile[half])) after = of_tile[half];
      // Nothing seen so far: any finite base does, and keeps infinity minus infinity away.
      const float base = after == -INFINITY ? 0.0f : after;
      const float shrink = exp2f(maximum[half] - base);
      maximum[half] = after;
      float sum = 0;
#pragma unroll
      for (int keys = 0; keys < kKeyGroups; ++keys) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[keys][i] = exp2f(scores[keys][i] - base);
          sum += scores[keys][i];
        }
      }
      denominator[half] = denominator[half] * shrink + sum;
#pragma unroll
      for (auto& value : sums) {
        value[2 * half] *= shrink;
        value[2 * half + 1] *= shrink;
      }
    }
  }

  // sums += probabilities * values. The fragment of the scores is the one that the product takes.
  __device__ void Accumulate(const std::uint16_t* v_tile, const float (&p)[kKeyGroups][4]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    // Matrices of a load: keys 0-7 and 8-15 at the first 8 columns, then at the next 8.
    const int at = (lane % 16) * Tile::kStride + lane / 16 * 8;
#pragma unroll
    for (int keys = 0; keys < Tile::kKeys / 16; ++keys) {
      std::uint32_t high[4], low[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pair = &p[2 * keys + i / 2][i % 2 * 2];
        SplitPair(pair[0], pair[1], high[i], low[i]);
      }
#pragma unroll
      for (int columns = 0; columns < kHeadDim / 16; ++columns) {
        std::uint32_t value[4];
        LoadTransposed(value, v_tile + at + keys * 16 * Tile::kStride + columns * 16);
        MultiplyAdd(sums[2 * columns], high, value[0], value[1]);
        MultiplyAdd(sums[2 * columns], low, value[0], value[1]);
        MultiplyAdd(sums[2 * columns + 1], high, value[2], value[3]);
        MultiplyAdd(sums[2 * columns + 1], low, value[2], value[3]);
      }
    }
  }
};

// Grid: (splits, KV heads * query tiles, bands).
template <int kHeadDim, bool kPositions>
__global__ void __launch_bounds__(PagedAttentionTraits::kThreads)
    PagedAttentionKernel(PagedAttentionArgs args, AttentionLaunch launch) {
  using Traits = PagedAttentionTraits;
  using Tile = Traits::Tile<kHeadDim>;
  LaunchDependents();
  WaitForPrevious();
  if (args.window > 0) {
    if (DM_DEVICE_FAULT(kWindowOneSided)) args.causal = true;
    if (DM_DEVICE_FAULT(kWindowOffByOne)) ++args.window;
    if (DM_DEVICE_FAULT(kWindowIgnored)) args.window = 0;
  }

  // Shared memory
  extern __shared__ uint4 shared_memory[];
  auto* const q_tile = reinterpret_cast<std::uint16_t*>(shared_memory);
  std::uint16_t* const kv_tiles = q_tile + Traits::kQueries * Tile::kStride;
  constexpr int kTileElements = Tile::kKeys * Tile::kStride;
  const auto k_tile = [&](int stage) { return kv_tiles + 2 * stage * kTileElements; };
  const auto v_tile = [&](int stage) { return kv_tiles + (2 * stage + 1) * kTileElements; };
  // Aligned for reads of two keys at a time
  __shared__ alignas(8) std::int32_t positions[Tile::kStages][kPositions ? Tile::kKeys : 2];

  // Whose queries, which keys
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int d = static_cast<int>(args.d);
  const int group = static_cast<int>(args.heads / args.kv);
  const int queries = static_cast<int>(args.rows) * group;
  const int kv_head = static_cast<int>(blockIdx.y % args.kv);
  const int first_query = static_cast<int>(blockIdx.y / args.kv) * Traits::kQueries;
  const int last_query = min(first_query + Traits::kQueries, queries) - 1;
  const std::uint32_t* const table =
      args.block_tables + (DM_DEVICE_FAULT(kFirstBandsTable) ? 0 : blockIdx.z * args.table);
  const std::uint32_t* const record =
      args.arguments + (DM_DEVICE_FAULT(kFirstBandsArguments) ? 0 : blockIdx.z * args.record_words);
  const int kv_len =
      static_cast<int>(min(std::int64_t{record[0]}, args.table * Traits::kBlockRows));
  const int q_offset = static_cast<int>(record[1]);
  const KeyRange range =
      RangeOf<Tile::kKeys>(args, kv_len, q_offset, first_query / group, last_query / group);
  const int first_position = kPositions ? static_cast<int>(record[2]) : q_offset;

  // Queries, and zeros where a head is narrower than the tile
  LoadQueries<kHeadDim>(args, launch.vector, kv_head, first_query, queries, q_tile);
  if (d < kHeadDim) {
    for (int i = thread; i < 2 * Tile::kStages * kTileElements; i += Traits::kThreads) {
      kv_tiles[i] = 0;
    }
  }
  __syncthreads();
  WarpQueries<kHeadDim> own;
  own.q = q_tile + warp * 16 * Tile::kStride;
  const int query = first_query + warp * 16 + lane / 4;
  own.row[0] = query / group;
  own.row[1] = (query + 8) / group;
  const bool active = first_query + warp * 16 <= last_query;  // the same for a whole warp
  own.Start();

  // Tiles, one ahead
  const auto load = [&](int tile) {
    const int stage = tile % Tile::kStages;
    LoadKeys<kHeadDim>(args, launch.vector, table, kv_head, range, tile, k_tile(stage),
                       v_tile(stage));
    if constexpr (kPositions) {
      LoadPositions<Tile::kKeys>(args, table, range, tile, positions[stage]);
    }
  };
  if (range.first_tile < range.last_tile) load(range.first_tile);
  for (int tile = range.first_tile; tile < range.last_tile; ++tile) {
    WaitForCopies();
    // The tile is there for all, and nobody works on the other stage any more.
    __syncthreads();
    if (tile + 1 < range.last_tile) load(tile + 1);
    if (!active) continue;
    const int stage = tile % Tile::kStages;
    float scores[WarpQueries<kHeadDim>::kKeyGroups][4];
    own.Scores(k_tile(stage), scores);
    own.template Softmax<kPositions>(args, launch.scale, first_position, positions[stage], range,
                                     tile, scores);
    own.Accumulate(v_tile(stage), scores);
  }

  // Partial results
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = own.denominator[half];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
    const int index = query + 8 * half;
    if (index > last_query) continue;
    const std::int64_t row = blockIdx.z * args.rows + index / group;
    const std::int64_t result = row * args.heads + QueryHead(args, kv_head, index % group);
    const std::int64_t at = result * gridDim.x + blockIdx.x;
    if (lane % 4 == 0) launch.stats[at] = make_float2(own.maximum[half], total);
    // A split without keys has no sums; its denominator of 0 says so.
    if (range.first_tile == range.last_tile) continue;
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
      const int column = i * 8 + lane % 4 * 2;
      float* const to = launch.partial + at * args.d + column;
      if (column < d) to[0] = own.sums[i][2 * half];
      if (column + 1 < d) to[1] = own.sums[i][2 * half + 1];
    }
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM80_PAGED_ATTENTION_CUH_
