// Addresses of memory that an Allocator hands out, on whichever device it serves.
//
// DeviceAddress is untyped, DevicePtr<T> says what lies there. Neither owns anything; both are
// plain values, null by default. The host may dereference get() only for memory of a host
// allocator or of kind kHostPinned.
#ifndef DRAFTMARK_SRC_SCRATCH_DEVICE_ADDRESS_H_
#define DRAFTMARK_SRC_SCRATCH_DEVICE_ADDRESS_H_

#include <cstdint>

namespace draftmark {

struct DeviceAddress {
  void* value = nullptr;

  bool is_null() const { return value == nullptr; }
  std::uintptr_t bits() const { return reinterpret_cast<std::uintptr_t>(value); }
  bool operator==(const DeviceAddress&) const = default;
};

template <typename T>
struct DevicePtr : DeviceAddress {
  T* get() const { return static_cast<T*>(value); }
};

// A stream of the device's runtime as an opaque number (a cudaStream_t on CUDA); 0 is the default
// stream. Host allocators ignore it.
struct StreamHandle {
  std::uint64_t value = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DEVICE_ADDRESS_H_
