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

// Copies tiles: by two warps, as every copy takes its time to be asked for. Each takes every other cache
// block, keys and values at once; and warp 0 the keys' positions, if those count. Only cache blocks of the
// share are touched: table entries behind it may be anything.
template <int kHeadDim, bool kPositions>
class TileCopier {
 public:
  __device__ __forceinline__ TileCopier(const PagedAttentionArgs& args, const void* map, int warp,
                                        HopperMemory<kHeadDim>& memory)
      : args_(args), map_(map), warp_(warp), memory_(memory) {}

  // The first entries of the table for the first item, if there is one.
  __device__ __forceinline__ void LookAhead(bool more, const AttentionWork& work) {
    if (more && Lane() < min(work.units, kHeld)) ahead_ = TableOf(work)[0];
  }
  __device__ __forceinline__ void Run(WorkList<kPositions>& list, bool more, AttentionWork work) {
    unsigned tiles[2] = {};  // of each warpgroup
    bool waited = false;
    for (; more; more = list.Next(work), LookAhead(more, work)) {
      const std::uint32_t* const table = TableOf(work);
      for (int base = 0; base < work.units; base += kHeld) {
        const std::uint32_t held = ahead_;
        if (Lane() < min(work.units - base - kHeld, kHeld)) ahead_ = table[base + kHeld];
        for (int first = 0; first < min(work.units - base, kHeld); first += kUnits) {
          int slots[kUnits];
#pragma unroll
          for (int unit = 0; unit < kUnits; ++unit) {
            slots[unit] = static_cast<int>(__shfl_sync(kAllLanes, held, first + unit)) * kUnit;
          }
          const int group = (base + first) / kUnits % 2;
          const int units = min(work.units - base - first, kUnits);
          // Keys that the kernel in front may still write
          if (!waited && (work.first_unit + base + first + units) * kUnit > work.first_new) {
            WaitForPrevious();
            waited = true;
          }
          if (group == 0) {
            Copy(work.kv_head, slots, units, group, tiles[0]++);
          } else {
            Copy(work.kv_head, slots, units, group, tiles[1]++);
          }
        }
      }
    }
  }

 private:
  using Memory = HopperMemory<kHeadDim>;
  static constexpr int kUnits = PagedAttentionTraits::Hopper::kUnits;
  static constexpr int kUnit = PagedAttentionTraits::kBlockRows;
  static constexpr int kHeld = kWarp / kUnits * kUnits;  // entries that the lanes hold, whole tiles

  __device__ __forceinline__ static int Lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  // This lane's entries.
  __device__ __forceinline__ const std::uint32_t* TableOf(const AttentionWork& work) const {
    return args_.block_tables + work.band * args_.table + work.first_unit + Lane();
  }
  // How many of `units` cache blocks are those of this warp, every other one.
  __device__ __forceinline__ int Own(int units) const { return (units + 1 - warp_) / 2; }

  // The `tile`th of the warpgroup. The one before it has come by then: with more on the way the first
  // would come late, and the memory be no faster.
  __device__ __forceinline__ void Copy(int kv_head, const int (&slots)[kUnits], int units,
                                       int group, unsigned tile) {
    using Place = TilePlace<Memory::kStagesOfGroup>;
    const auto [stage, parity] = Place(group, tile);
    std::uint64_t* const full = &memory_.full[stage];
    if (tile > 0) {
      const Place before(group, tile - 1);
      WaitFor(&memory_.full[before.stage], before.parity);
    }
    WaitFor(&memory_.empty[stage], parity ^ 1);
    if constexpr (kPositions) {
      if (warp_ == 0) CopyPositions(slots, units, memory_.positions[stage]);
    }
    if (!Elected()) return;
    if (const int own = Own(units); own > 0) {
      ArriveExpecting(full, static_cast<unsigned>(own * Memory::kUnitBytes));
    } else {
      Arrive(full);
    }
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      if (unit < units && unit % 2 == warp_) {
        CopyBox(memory_.tiles[stage] + unit * Memory::kUnitBytes, map_, 0, 0,
                kv_head * (kHeadDim / 64), slots[unit] / 8, full);
      }
    }
  }

  // Before this warp's arrival.
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
  const void* map_;
  int warp_;
  Memory& memory_;
  std::uint32_t ahead_ = 0;
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
