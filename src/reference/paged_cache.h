// The paged K/V cache: spec/drafter.md section 3.8.
//
// Pool per layer, K and V apart: [num_blocks, 16, n_kv, d]. A band's logical index m lives in slot
// block_table[m / 16] * 16 + m mod 16; one block table serves all layers. Slots are 64-bit; a
// negative slot means "skip this row". Not thread-safe.
#ifndef DRAFTMARK_SRC_REFERENCE_PAGED_CACHE_H_
#define DRAFTMARK_SRC_REFERENCE_PAGED_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/check.h"

namespace draftmark::reference {

inline constexpr std::uint64_t kCacheBlockRows = 16;

inline std::int64_t SlotOf(std::span<const std::uint32_t> block_table,
                           std::uint64_t logical_index) {
  return static_cast<std::int64_t>(block_table[logical_index / kCacheBlockRows]) *
             static_cast<std::int64_t>(kCacheBlockRows) +
         static_cast<std::int64_t>(logical_index % kCacheBlockRows);
}

template <typename Storage>
class PagedCache {
 public:
  // `row_width` = n_kv * d. Contents are whatever `fill` says: no result may depend on it.
  PagedCache(std::uint64_t layers, std::uint64_t blocks, std::uint64_t row_width, Storage fill)
      : blocks_(blocks),
        row_width_(row_width),
        keys_(layers, std::vector<Storage>(blocks * kCacheBlockRows * row_width, fill)),
        values_(keys_) {}

  std::uint64_t blocks() const { return blocks_; }
  std::span<const Storage> Key(std::uint64_t layer, std::int64_t slot) const {
    return {&keys_[layer][Offset(slot)], row_width_};
  }
  std::span<const Storage> Value(std::uint64_t layer, std::int64_t slot) const {
    return {&values_[layer][Offset(slot)], row_width_};
  }
  // Copies one row of K and V into a slot; negative slots are skipped.
  void Write(std::uint64_t layer, std::int64_t slot, std::span<const Storage> key,
             std::span<const Storage> value) {
    if (slot < 0) return;
    std::copy(key.begin(), key.end(),
              keys_[layer].begin() + static_cast<std::ptrdiff_t>(Offset(slot)));
    std::copy(value.begin(), value.end(),
              values_[layer].begin() + static_cast<std::ptrdiff_t>(Offset(slot)));
  }

 private:
  std::size_t Offset(std::int64_t slot) const {
    DM_CHECK(slot >= 0 && static_cast<std::uint64_t>(slot) < blocks_ * kCacheBlockRows);
    return static_cast<std::size_t>(slot) * row_width_;
  }

  std::uint64_t blocks_;
  std::uint64_t row_width_;
  std::vector<std::vector<Storage>> keys_;
  std::vector<std::vector<Storage>> values_;
};

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_PAGED_CACHE_H_
