// How keys, values and queries come to shared memory on sm_90.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_COPIES_CUH_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_COPIES_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/tensor_core.cuh"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/paged_attention/sm90_attention_work.cuh"

namespace draftmark::kernels {

// Copies tiles: by two warps, as every copy takes its time to be asked for. Each takes one half of the
// columns of keys (every other cache block where there are but 64), and the values of every other cache
// block; and warp 0 the keys' positions, if those count. Only cache blocks of the share are touched:
// table entries behind it may be anything.
template <int kHeadDim, bool kPositions>
class TileCopier {
 public:
  __device__ __forceinline__ TileCopier(const PagedAttentionArgs& args, const void* key_map,
                                        const void* value_map, int warp,
                                        HopperMemory<kHeadDim>& memory)
      : args_(args), key_map_(key_map), value_map_(value_map), warp_(warp), memory_(memory) {}

  __device__ __forceinline__ void Run(WorkList<kPositions>& list) {
    // Entries of the table that the lanes hold, whole tiles
    constexpr int kHeld = kWarp / kUnits * kUnits;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    unsigned tile = 0;
    AttentionWork work;
    while (list.Next(work)) {
      const std::uint32_t* const table =
          args_.block_tables + work.band * args_.table + work.first_unit + lane;
      std::uint32_t ahead = lane < min(work.units, kHeld) ? table[0] : 0;
      for (int base = 0; base < work.units; base += kHeld) {
        const std::uint32_t held = ahead;
        if (lane < min(work.units - base - kHeld, kHeld)) ahead = table[base + kHeld];
        for (int first = 0; first < min(work.units - base, kHeld); first += kUnits, ++tile) {
          int slots[kUnits];
#pragma unroll
          for (int unit = 0; unit < kUnits; ++unit) {
            slots[unit] = static_cast<int>(__shfl_sync(kAllLanes, held, first + unit)) * kUnit;
          }
          Copy(work.kv_head, slots, min(work.units - base - first, kUnits), tile);
        }
      }
    }
  }

 private:
  using Memory = HopperMemory<kHeadDim>;
  static constexpr int kUnits = PagedAttentionTraits::Hopper::kUnits;
  static constexpr int kUnit = PagedAttentionTraits::kBlockRows;
  static constexpr int kHalves = kHeadDim / 64;

  // How many of `units` cache blocks are those of this warp, every other one.
  __device__ __forceinline__ int Own(int units) const { return (units + 1 - warp_) / 2; }

  __device__ __forceinline__ static void ArriveWith(std::uint64_t* barrier, int bytes) {
    if (bytes > 0) {
      ArriveExpecting(barrier, static_cast<unsigned>(bytes));
    } else {
      Arrive(barrier);
    }
  }

  __device__ __forceinline__ void Copy(int kv_head, const int (&slots)[kUnits], int units,
                                       unsigned tile) {
    const unsigned stage = tile % Memory::kStages;
    const unsigned parity = (tile / Memory::kStages & 1) ^ 1;
    std::uint64_t* const keys_full = &memory_.keys_full[stage];
    std::uint64_t* const values_full = &memory_.values_full[stage];
    const int column_block = kv_head * kHalves;
    WaitFor(&memory_.keys_empty[stage], parity);
    if constexpr (kPositions) {
      if (warp_ == 0) CopyPositions(slots, units, memory_.positions[stage]);
    }
    if (Elected()) {
      const int half = kHalves == 2 ? warp_ : 0;
      unsigned char* const to = memory_.keys[stage] + half * Memory::kHalfBytes;
      const int copies = kHalves == 2 ? units : Own(units);
      ArriveWith(keys_full, copies * kUnit * 128);
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (unit < units && (kHalves == 2 || unit % 2 == warp_)) {
          CopySharedTensor(to + unit * kUnit * 128, key_map_, slots[unit], column_block + half,
                           keys_full);
        }
      }
    }
    WaitFor(&memory_.values_empty[stage], parity);
    if (Elected()) {
      ArriveWith(values_full, Own(units) * Memory::kUnitBytes);
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (unit < units && unit % 2 == warp_) {
          CopySharedTensor(memory_.values[stage] + unit * Memory::kUnitBytes, value_map_,
                           slots[unit], column_block, values_full);
        }
      }
    }
  }

  // Before this warp's arrival with the keys.
  __device__ __forceinline__ void CopyPositions(const int (&slots)[kUnits], int units,
                                                std::int32_t* positions) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    std::int32_t read[kUnits] = {};
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      if (unit < units && lane < kUnit) read[unit] = args_.slot_positions[slots[unit] + lane];
    }
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      if (lane < kUnit) positions[unit * kUnit + lane] = read[unit];
    }
    __syncwarp();
  }

  const PagedAttentionArgs& args_;
  const void* key_map_;
  const void* value_map_;
  int warp_;
  Memory& memory_;
};

// A helper's part of 64 queries; zeros behind the last one.
template <int kHeadDim>
struct HeldQueries {
  static constexpr int kPieces = kHeadDim / 8;  // of 16 bytes, of a query
  static constexpr int kHelpers = PagedAttentionTraits::Hopper::kHelpers;
  static constexpr int kHeld = PagedAttentionTraits::kQueries * kPieces / kHelpers;
  static constexpr int kStep = kHelpers / kPieces;  // queries from one to the next

  uint4 held[kHeld];

  __device__ __forceinline__ void Load(const PagedAttentionArgs& args, const AttentionWork& work,
                                       int helper) {
    const auto heads = static_cast<int>(args.heads);
    const int group = heads / static_cast<int>(args.kv);
    int query = work.first_query + helper / kPieces;
    int head = query % group;
    std::int64_t at = (work.band * args.rows + query / group) * heads + work.kv_head * group + head;
    // Divisions cost more than all else here.
    const int row_step = kStep / group * heads, head_step = kStep % group;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      held[i] = make_uint4(0, 0, 0, 0);
      if (query <= work.last_query) {
        held[i] = *reinterpret_cast<const uint4*>(args.q + at * kHeadDim + helper % kPieces * 8);
      }
      query += kStep;
      head += head_step;
      at += row_step + head_step;
      if (head >= group) {
        head -= group;
        at += heads - group;
      }
    }
  }
  __device__ __forceinline__ void Store(const AttentionWork& work, int helper,
                                        HopperMemory<kHeadDim>& memory) const {
    if (helper == 0) memory.work = work;
    // The first query is less than the step, a power of two: no carries.
    const int piece = helper % kPieces;
    const int query = helper / kPieces;
    unsigned char* const to =
        memory.queries + piece / 8 * HopperMemory<kHeadDim>::kQueryHalfBytes + query * 128;
    const int swizzled = (piece ^ query) % 8 * 16;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      *reinterpret_cast<uint4*>(to + i * kStep * 128 + (swizzled ^ i * kStep % 8 * 16)) = held[i];
    }
    FenceShared();
    Arrive(&memory.queries_full);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_SM90_ATTENTION_COPIES_CUH_
