// Slots of the paged K/V cache (spec/drafter.md section 3.8).
//
// Pools per layer, K and V apart: [blocks, 16, n_kv, d]. A band's logical index m lives in slot
// block_table[m / 16] * 16 + m mod 16; one block table serves all layers. Slots are 64-bit; a
// negative one means "skip this row". Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_BACKEND_CACHE_SLOTS_H_
#define DRAFTMARK_SRC_BACKEND_CACHE_SLOTS_H_

#include <cstdint>
#include <span>

namespace draftmark {

inline constexpr std::uint64_t kCacheBlockRows = 16;

inline std::int64_t SlotOf(std::span<const std::uint32_t> block_table,
                           std::uint64_t logical_index) {
  return static_cast<std::int64_t>(block_table[logical_index / kCacheBlockRows]) *
             static_cast<std::int64_t>(kCacheBlockRows) +
         static_cast<std::int64_t>(logical_index % kCacheBlockRows);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_CACHE_SLOTS_H_
