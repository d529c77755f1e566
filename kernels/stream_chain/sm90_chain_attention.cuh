// An attention step: keys and values of the cache flow through the ring like weights, in their turn,
// and only those that the chain itself writes wait for the step before. A block takes one split of the
// keys of an item, 64 queries of a KV head of a band; when all splits of an item are there, each of its
// blocks puts some of the queries together.
//
// A stage holds two cache blocks, [2][d / 64][keys, values][16][64] in the 128-byte swizzle. The two
// warpgroups take turns with stages. Queries, and then results over them, lie where a linear step has its rows.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_ATTENTION_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_ATTENTION_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/warpgroup.cuh"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm80_combine_splits.cuh"
#include "kernels/paged_attention/sm90_attention_products.cuh"
#include "kernels/paged_attention/sm90_attention_work.cuh"
#include "kernels/paged_attention/sm90_query_group.cuh"
#include "kernels/stream_chain/sm90_chain_copies.cuh"
#include "kernels/stream_chain/sm90_chain_finish.cuh"
#include "kernels/stream_chain/sm90_chain_step.cuh"

namespace draftmark::kernels {

inline constexpr int kUnitKeys = PagedAttentionTraits::kBlockRows;

// One split of an item.
struct ChainWork : AttentionWork {
  int item = 0;
  int split = 0;
  int first_row = 0;  // of the item's queries, in the band
};

// Without the keys, and without reading memory.
__device__ __forceinline__ ChainWork PlaceOf(const ChainAttention& a, int index) {
  ChainWork work;
  work.item = index / a.splits;
  work.split = index % a.splits;
  const int head = work.item / a.tiles;
  const auto kv = static_cast<int>(a.args.kv);
  work.kv_head = head % kv;
  work.band = head / kv;
  work.first_row = work.item % a.tiles * a.tile_rows;
  const int group = static_cast<int>(a.args.heads) / kv;
  work.first_query = work.first_row * group;
  work.last_query = min(work.first_row + a.tile_rows, static_cast<int>(a.args.rows)) * group - 1;
  return work;
}

// Records are a call's inputs: no kernel writes them.
__device__ __forceinline__ ChainWork WorkOf(const ChainAttention& a, int index) {
  ChainWork work = PlaceOf(a, index);
  const std::uint32_t* const record = a.args.arguments + work.band * a.args.record_words;
  const bool positions = UsesPositions(a.args);
  const std::uint32_t kv_len = __ldg(record), q_offset = __ldg(record + 1);
  const std::uint32_t position = __ldg(record + (positions ? 2 : 1));
  const auto keys = static_cast<int>(min(std::int64_t{kv_len}, a.args.table * kUnitKeys));
  const int last_row = min(work.first_row + a.tile_rows, static_cast<int>(a.args.rows)) - 1;
  ShareKeys(SeenKeys(a.args, keys, static_cast<int>(q_offset), work.first_row, last_row),
            work.split, static_cast<unsigned>(a.splits), work);
  work.first_position = static_cast<int>(position);
  work.first_new = static_cast<int>(q_offset) - a.late_keys;
  return work;
}

// How a unit, the keys and values of a cache block, lies in a stage.
template <int kHeadDim>
struct ChainUnit {
  static constexpr int kOneBytes = kUnitKeys * 128;  // 64 columns of keys, or of values
  static constexpr int kHalfBytes = 2 * kOneBytes;   // from 64 columns to the next
  static constexpr int kBytes = kHeadDim / 64 * kHalfBytes;
};

// The thread that streams weights: the cache's part of this block.
template <int kRows>
__device__ void StreamKeys(const ChainAttention& a, const void* map, int step,
                           const ChainMemory<kRows>& m, RingWriter<kRows>& writer) {
  const auto columns = static_cast<int>(a.args.d) / 64;
  const unsigned unit_bytes = static_cast<unsigned>(columns) * ChainUnit<64>::kBytes;
  writer.StagesOf(2 * unit_bytes);
  bool waited = false;
  for (int index = static_cast<int>(blockIdx.x); index < a.works;
       index += static_cast<int>(gridDim.x)) {
    const ChainWork work = WorkOf(a, index);
    const std::uint32_t* const table =
        a.args.block_tables + work.band * a.args.table + work.first_unit;
    std::uint32_t next[2] = {work.units > 0 ? __ldg(table) : 0,
                             work.units > 1 ? __ldg(table + 1) : 0};
    for (int unit = 0; unit < work.units; unit += 2) {
      const std::uint32_t blocks[2] = {next[0], next[1]};
      if (unit + 2 < work.units) next[0] = __ldg(table + unit + 2);
      if (unit + 3 < work.units) next[1] = __ldg(table + unit + 3);
      const int units = min(work.units - unit, 2);
      if (!waited && (work.first_unit + unit + units) * kUnitKeys > work.first_new) {
        WaitFor(&m.b.go[step], 0);
        FenceGlobal();
        waited = true;
      }
      std::uint64_t* full = nullptr;
      unsigned char* const stage = writer.Reserve(unit_bytes * units, &full);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (i == units) break;
        CopySharedTensor(stage + i * unit_bytes, map, static_cast<int>(blocks[i]) * kUnitKeys,
                         work.kv_head * columns, full);
      }
    }
  }
}

// The thread that brings rows: the queries, behind the barrier over the grid. A half of the columns of 64
// queries takes 8 KB; what lies behind the last query there is multiplied, and read by nobody.
template <int kRows>
__device__ void StreamQueries(const ChainAttention& a, const void* map, const ChainMemory<kRows>& m,
                              unsigned& turn) {
  constexpr int kHalfBytes = PagedAttentionTraits::kQueries * 128;
  const auto columns = static_cast<int>(a.args.d) / 64;
  const int group = static_cast<int>(a.args.heads / a.args.kv);
  for (int index = static_cast<int>(blockIdx.x); index < a.works;
       index += static_cast<int>(gridDim.x), ++turn) {
    const ChainWork work = PlaceOf(a, index);
    WaitFor(&m.b.queries_used, (turn & 1u) ^ 1u);
    ArriveExpecting(&m.b.queries_full, static_cast<unsigned>(columns * a.tile_rows * group * 128));
    for (int half = 0; half < columns; ++half) {
      CopyBox(m.rows + half * kHalfBytes, map, work.kv_head * group,
              work.band * static_cast<int>(a.args.rows) + work.first_row, half, &m.b.queries_full);
    }
  }
}

// The two warpgroups that multiply.
template <int kRows, int kHeadDim>
class ChainAttender {
 public:
  using Traits = StreamChainTraits;
  using Attention = PagedAttentionTraits;

  __device__ ChainAttender(const ChainAttention& a, const ChainMemory<kRows>& m, unsigned* counters)
      : a_(a), m_(m), counters_(counters) {}

  // `first`: this block's first work, looked up before the queries were there. `turn`: items so far in this
  // kernel; `steps_before`: attention steps.
  __device__ void Run(const ChainWork& first, StagePlace& stage, unsigned& turn,
                      unsigned steps_before) {
    for (int index = static_cast<int>(blockIdx.x); index < a_.works;
         index += static_cast<int>(gridDim.x), ++turn) {
      const ChainWork work = index == static_cast<int>(blockIdx.x) ? first : WorkOf(a_, index);
      Group queries;
      queries.Start(a_.args, work);
      WaitFor(&m_.b.queries_full, turn & 1u);
      const int stages = (work.units + 1) / 2;
      const int own = OwnOfStages(stage);
#pragma unroll 1
      for (int i = 0; i < stages; ++i, stage.Advance(kStageBytes)) {
        if (((i ^ own) & 1) != 0) continue;
        WaitFor(&m_.b.full[stage.slot()], stage.parity());
        Attend(work, i, m_.ring + stage.Begin(kStageBytes), queries);
        if (threadIdx.x % kWarp == 0) Arrive(&m_.b.empty[stage.slot()]);
      }
      Leave(work, queries, own);
      // The copy engine writes the next queries over these and their results.
      if (index + static_cast<int>(gridDim.x) < a_.works) FenceShared();
      __syncwarp();
      if (threadIdx.x % kWarp == 0) Arrive(&m_.b.queries_used);
    }
    // All own parts are there before anybody waits for another block's.
    for (int index = static_cast<int>(blockIdx.x); index < a_.works;
         index += static_cast<int>(gridDim.x)) {
      Combine(PlaceOf(a_, index), (steps_before + 1) * static_cast<unsigned>(a_.splits));
    }
    // The copy engine writes the next step's rows over queries and results.
    FenceShared();
  }

 private:
  static constexpr int kKeys = 2 * kUnitKeys;  // of a stage
  using Group = QueryGroup<kHeadDim, kKeys>;
  using Unit = ChainUnit<kHeadDim>;
  static constexpr int kQueryHalfBytes = Attention::kQueries * 128;
  static constexpr unsigned kStageBytes = 2 * Unit::kBytes;
  // Sums of the even and of the odd stages, [2][64][kHeadDim], where queries and rows lie; beside them, where a
  // tile's sums lie, maxima and denominators, [2][64].
  static constexpr int kSums = Attention::kQueries * kHeadDim;
  static_assert(2 * kSums * 4 <= Traits::kAllRowBytes);
  static_assert(2 * Attention::kQueries * 8 <= Traits::kSumBytes);

  // Of four columns; in an order without conflicts between a warp's rows.
  __device__ __forceinline__ static int PlaceOfSums(int query, int column) {
    return query * kHeadDim + (column ^ (query & 7) * 8);
  }

  __device__ __forceinline__ void Attend(const ChainWork& work, int index, unsigned char* stage,
                                         Group& queries) const {
    constexpr unsigned kPattern = 1024;
    const int first_key = (work.first_unit + 2 * index) * kUnitKeys;
    const unsigned keys_at = a_.values_first ? Unit::kOneBytes : 0;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bool positions = UsesPositions(a_.args);
    int position = 0;  // of the key that has the lane's number
    if (positions && first_key + lane < work.end) {
      const std::uint32_t block = __ldg(a_.args.block_tables + work.band * a_.args.table +
                                        work.first_unit + 2 * index + lane / kUnitKeys);
      position =
          __ldcg(a_.args.slot_positions + std::int64_t{block} * kUnitKeys + lane % kUnitKeys);
    }
    typename Group::Scores scores;
    const std::uint64_t rows = Describe(SharedAddress(m_.rows), kPattern);
    const std::uint64_t keys = Describe(SharedAddress(stage) + keys_at, kPattern);
    WarpgroupArrive();
#pragma unroll
    for (int unit = 0; unit < 2; ++unit) {
#pragma unroll
      for (int depth = 0; depth < kHeadDim / 16; ++depth) {
        // Descriptors count in units of 16 bytes; 16 columns are 32 bytes.
        MultiplyKeys(
            reinterpret_cast<float(&)[2][4]>(scores[2 * unit]),
            rows + depth / 4 * (kQueryHalfBytes / 16) + depth % 4 * 2,
            keys + unit * (Unit::kBytes / 16) + depth / 4 * (Unit::kHalfBytes / 16) + depth % 4 * 2,
            depth > 0);
      }
    }
    WarpgroupCommit();
    WarpgroupWait<0>();
    Settle(scores);

    if (positions) {
      queries.template Mask<true>(
          a_.args, work,
          [&](int eight) {
            const int key = eight * 8 + lane % 4 * 2;
            return make_int2(__shfl_sync(kAllLanes, position, key),
                             __shfl_sync(kAllLanes, position, key + 1));
          },
          first_key, scores);
    } else {
      queries.template Mask<false>(
          a_.args, work, [](int) { return int2{}; }, first_key, scores);
    }
    queries.Softmax(a_.launch.scale, scores);
    std::uint32_t high[2][4], low[2][4];
#pragma unroll
    for (int unit = 0; unit < 2; ++unit) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pair = &scores[2 * unit + i / 2][i % 2 * 2];
        Group::Split(pair[0], pair[1], high[unit][i], low[unit][i]);
      }
    }

    unsigned char* const values = stage + (a_.values_first ? 0 : Unit::kOneBytes);
    const int begin = work.begin - first_key;
    const int end = work.end - first_key;
    if (begin > 0 || end < kKeys) ZeroValues(values, begin, end);
    const std::uint64_t described = Describe(SharedAddress(values), kPattern, Unit::kHalfBytes);
    WarpgroupArrive();
#pragma unroll
    for (int unit = 0; unit < 2; ++unit) {
      MultiplyValues(queries.sums, high[unit], described + unit * (Unit::kBytes / 16));
      MultiplyValues(queries.sums, low[unit], described + unit * (Unit::kBytes / 16));
    }
    WarpgroupCommit();
    WarpgroupWait<0>();
    Settle(queries.sums);
  }

  // Values of keys that the share does not hold: a probability of 0 must not meet what may be NaN.
  __device__ __forceinline__ static void ZeroValues(unsigned char* values, int begin, int end) {
    constexpr int kPieces = kHeadDim / 8;  // of 16 bytes, of a key
    constexpr int kThreads = Attention::Hopper::kGroupThreads;
    const int thread = static_cast<int>(threadIdx.x) % kThreads;
    for (int i = thread; i < kKeys * kPieces; i += kThreads) {
      const int key = i / kPieces;
      const int piece = i % kPieces;
      if (key >= begin && key < end) continue;
      // The swizzle stays within a row.
      *reinterpret_cast<uint4*>(values + key / kUnitKeys * Unit::kBytes +
                                piece / 8 * Unit::kHalfBytes + key % kUnitKeys * 128 +
                                piece % 8 * 16) = make_uint4(0, 0, 0, 0);
    }
    FenceShared();
    SyncThreads(3 + static_cast<int>(threadIdx.x) / kThreads, kThreads);
  }

  // Row of the results, of a query counted from the item's first.
  __device__ __forceinline__ std::int64_t ResultOf(const ChainWork& work, int query) const {
    const auto heads = static_cast<int>(a_.args.heads);
    const int group = heads / static_cast<int>(a_.args.kv);
    return (work.band * a_.args.rows + work.first_row + query / group) * heads +
           work.kv_head * group + query % group;
  }

  // This split's results, of even and odd stages, to where all blocks see them.
  __device__ void Leave(const ChainWork& work, const Group& queries, int own) const {
    const int count = work.last_query - work.first_query + 1;
    auto* const sums = reinterpret_cast<float*>(m_.rows);
    auto* const stats = reinterpret_cast<float2*>(m_.sums);
    const int thread = static_cast<int>(threadIdx.x) % Attention::Hopper::kGroupThreads;
    const int lane = thread % kWarp;
    SyncThreads(kConsumerBarrier, Traits::kConsumers);  // nobody reads the queries any more
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = thread / kWarp * 16 + lane / 4 + 8 * half;
      const float2 own_stats = queries.Stats(half);
      if (lane % 4 == 0) stats[own * Attention::kQueries + query] = own_stats;
#pragma unroll
      for (int j = 0; j < kHeadDim / 8; ++j) {
        float* const place = sums + own * kSums + PlaceOfSums(query, j * 8) + lane % 4 * 2;
        *reinterpret_cast<float2*>(place) =
            make_float2(queries.sums[j][2 * half], queries.sums[j][2 * half + 1]);
      }
    }
    SyncThreads(kConsumerBarrier, Traits::kConsumers);
    constexpr int kPieces = kHeadDim / 4;
    constexpr int kStep = Traits::kConsumers / kPieces;
    const int piece = static_cast<int>(threadIdx.x) % kPieces;
#pragma unroll 2
    for (int query = static_cast<int>(threadIdx.x) / kPieces; query < count; query += kStep) {
      const auto [of_even, of_odd, both] =
          WeighKeySets(stats[query], stats[Attention::kQueries + query]);
      const float* const from = sums + PlaceOfSums(query, piece * 4);
      const float4 even = *reinterpret_cast<const float4*>(from);
      const float4 odd = *reinterpret_cast<const float4*>(from + kSums);
      const std::int64_t at = ResultOf(work, query) * a_.splits + work.split;
      __stcg(reinterpret_cast<float4*>(a_.launch.partial + at * kHeadDim) + piece,
             make_float4(
                 fmaf(of_even, even.x, of_odd * odd.x), fmaf(of_even, even.y, of_odd * odd.y),
                 fmaf(of_even, even.z, of_odd * odd.z), fmaf(of_even, even.w, of_odd * odd.w)));
      if (piece == 0) __stcg(a_.launch.stats + at, both);
    }
    SyncThreads(kConsumerBarrier, Traits::kConsumers);
    if (threadIdx.x == 0) CountUp(counters_ + work.item);
  }

  // Some of an item's queries, when all of its splits are there: a warp each.
  __device__ void Combine(const ChainWork& work, unsigned wanted) const {
    const int count = work.last_query - work.first_query + 1;
    const int each = (count + a_.splits - 1) / a_.splits;
    const int first = work.split * each;
    const int last = min(first + each, count);
    if (first >= last) return;
    if (threadIdx.x == 0) WaitForCount(counters_ + work.item, wanted);
    SyncThreads(kConsumerBarrier, Traits::kConsumers);
    // A warp has 64 columns of a query.
    constexpr int kPieces = kHeadDim / 64;
    for (int task = static_cast<int>(threadIdx.x) / kWarp; task < (last - first) * kPieces;
         task += Traits::kConsumers / kWarp) {
      CombineColumns(ResultOf(work, first + task / kPieces), task % kPieces * 64);
    }
  }

  // Each half of the warp has 8 of 16 splits, and all of its loads are on their way at once: the way to L2 is
  // what takes its time.
  __device__ __forceinline__ void CombineColumns(std::int64_t result, int column) const {
    constexpr int kAtATime = 8;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int half = lane / 16 * kAtATime;
    const float2 stat = lane < a_.splits ? __ldcg(a_.launch.stats + result * a_.splits + lane)
                                         : make_float2(-INFINITY, 0.0f);
    const float* from =
        a_.launch.partial + (result * a_.splits + half) * kHeadDim + column + lane % 16 * 4;
    const float sink = a_.args.sinks != nullptr
                           ? ToFloat(a_.args.sinks[result % a_.args.heads]) * kLog2E
                           : -INFINITY;
    SplitWeights weights;
    float4 sum = {};
#pragma unroll 1
    for (int base = half; base < a_.splits + half; base += 2 * kAtATime) {
      float4 values[kAtATime];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
        values[i] = base + i < a_.splits
                        ? __ldcg(reinterpret_cast<const float4*>(from + i * kHeadDim))
                        : float4{};
      }
      if (base == half) weights = WeighSplits(stat, sink);
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
        const float weight = __shfl_sync(kAllLanes, weights.weight, base + i);
        sum.x = fmaf(weight, values[i].x, sum.x);
        sum.y = fmaf(weight, values[i].y, sum.y);
        sum.z = fmaf(weight, values[i].z, sum.z);
        sum.w = fmaf(weight, values[i].w, sum.w);
      }
      from += 2 * kAtATime * kHeadDim;
    }
    sum.x += __shfl_xor_sync(kAllLanes, sum.x, 16);
    sum.y += __shfl_xor_sync(kAllLanes, sum.y, 16);
    sum.z += __shfl_xor_sync(kAllLanes, sum.z, 16);
    sum.w += __shfl_xor_sync(kAllLanes, sum.w, 16);
    const float scale = weights.denominator == 0.0f ? 0.0f : 1.0f / weights.denominator;
    if (half > 0) return;
    *reinterpret_cast<uint2*>(a_.args.out + result * kHeadDim + column + lane * 4) = make_uint2(
        RoundPair(sum.x * scale, sum.y * scale), RoundPair(sum.z * scale, sum.w * scale));
  }

  const ChainAttention& a_;
  const ChainMemory<kRows>& m_;
  unsigned* const counters_;  // of items
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_ATTENTION_CUH_
