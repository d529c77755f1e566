// Where the cache slots of rows lie in device memory: 64 bits each, or 32, as scratch v1 documents it
// (spec/dflash_scratch.md section 2).
//
// The width follows from the pointer's type, and nothing states it a second time, so that a buffer
// of one width cannot be read or written as the other. Addresses are multiples of it.
#ifndef DRAFTMARK_KERNELS_DEVICE_SLOTS_H_
#define DRAFTMARK_KERNELS_DEVICE_SLOTS_H_

#include <cstdint>
#include <variant>

namespace draftmark::kernels {

// Null 64-bit pointers at first.
using Slots = std::variant<std::int64_t*, std::int32_t*>;
using ConstSlots = std::variant<const std::int64_t*, const std::int32_t*>;

inline ConstSlots ReadOnly(const Slots& slots) {
  return std::visit([](auto* of_rows) { return ConstSlots(of_rows); }, slots);
}

inline const void* AddressOf(const ConstSlots& slots) {
  return std::visit([](const auto* of_rows) -> const void* { return of_rows; }, slots);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_SLOTS_H_
