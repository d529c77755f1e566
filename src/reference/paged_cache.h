// The paged K/V cache: spec/drafter.md section 3.8.
//
// Slots: src/backend/cache_slots.h. Not thread-safe.
#ifndef DRAFTMARK_SRC_REFERENCE_PAGED_CACHE_H_
#define DRAFTMARK_SRC_REFERENCE_PAGED_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/cache_slots.h"
#include "src/base/check.h"
#include "src/faults/fault.h"

namespace draftmark::reference {

// A view of the pools, which belong to the session's allocator: each [layers, blocks * 16,
// row_width].
template <typename Storage>
class PagedCache {
 public:
  // `row_width` = n_kv * d. Contents are whatever they are: no result may depend on them.
  PagedCache(std::uint64_t layers, std::uint64_t blocks, std::uint64_t row_width, Storage* keys,
             Storage* values)
      : layers_(layers), blocks_(blocks), row_width_(row_width), keys_(keys), values_(values) {}

  std::uint64_t blocks() const { return blocks_; }
  std::span<const Storage> Key(std::uint64_t layer, std::int64_t slot) const {
    return {keys_ + Offset(layer, slot), row_width_};
  }
  std::span<const Storage> Value(std::uint64_t layer, std::int64_t slot) const {
    return {values_ + Offset(layer, slot), row_width_};
  }
  // Copies one row of K and V into a slot; negative slots are skipped.
  void Write(std::uint64_t layer, std::int64_t slot, std::span<const Storage> key,
             std::span<const Storage> value) {
    if (DM_FAULT(kNegativeSlotWritten) && slot < 0) {
      slot += static_cast<std::int64_t>(blocks_ * kCacheBlockRows);  // before the layer's pool
    }
    if (slot < 0) return;
    std::copy(key.begin(), key.end(), keys_ + Offset(layer, slot));
    std::copy(value.begin(), value.end(), values_ + Offset(layer, slot));
  }

 private:
  std::size_t Offset(std::uint64_t layer, std::int64_t slot) const {
    DM_CHECK(layer < layers_ && slot >= 0 &&
             static_cast<std::uint64_t>(slot) < blocks_ * kCacheBlockRows);
    return (layer * blocks_ * kCacheBlockRows + static_cast<std::size_t>(slot)) * row_width_;
  }

  std::uint64_t layers_;
  std::uint64_t blocks_;
  std::uint64_t row_width_;
  Storage* keys_;
  Storage* values_;
};

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_PAGED_CACHE_H_
