// Allocator: where all memory of a backend comes from (design.md, Memory).
//
// Implementations: HostAllocator (a fake device in host memory), CudaAllocator (src/cuda), and
// wrappers that add one thing each and may be stacked: LedgerAllocator counts,
// FaultInjectingAllocator fails on demand, CheckingAllocator adds red zones and poison. A wrapper
// passes requests on, possibly larger ones, so the ledger belongs outside a wrapper that enlarges.
//
// Rules for every implementation:
// - Allocate: INVALID_ARGUMENT for a request that ValidateRequest refuses, RESOURCE_EXHAUSTED when
//   memory is used up; the message names the tag and the bytes. The address has at least the
//   requested alignment (and at least 256 bytes for kDevice, as CUDA promises). The contents are
//   undefined.
// - Free: takes an address that Allocate returned, once. Null, unknown or freed addresses are
//   INVALID_ARGUMENT. After a failed Free the memory counts as still allocated, except after
//   DATA_LOSS: then it was given back, but found damaged.
// - SetBytes: fills [address, address + bytes) in the stream's order; pinned host memory at once.
// - GetBytes, PutBytes: copy memory to or from the host in the stream's order and wait for the
//   stream, so that on return `out` is filled, or the bytes are there and the source may be reused.
//   Not for use inside a captured region, and no fast path: for checks, tests and dumps.
// - SetBytes, GetBytes, PutBytes: INVALID_ARGUMENT where the range leaves its allocation.
// - Thread-safe.
#ifndef DRAFTMARK_SRC_SCRATCH_ALLOCATOR_H_
#define DRAFTMARK_SRC_SCRATCH_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/scratch/device_address.h"

namespace draftmark {

enum class MemoryKind {
  kDevice,      // the accelerator's memory
  kHostPinned,  // page-locked host memory: the host reads what the device copies there
};
std::string_view MemoryKindName(MemoryKind kind);  // "device", "host pinned"

// What cudaMalloc promises; device memory of every allocator is aligned to it.
inline constexpr std::uint64_t kDeviceAlignment = 256;  // bytes

struct AllocationRequest {
  std::uint64_t bytes = 0;      // above 0; passed on unrounded
  std::uint64_t alignment = 1;  // bytes, a power of two
  MemoryKind kind = MemoryKind::kDevice;
  std::string_view tag = {};  // whose memory it is, for the ledger and messages: a field's name
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) = 0;
  virtual Status Free(DeviceAddress address) = 0;
  virtual Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                          StreamHandle stream) = 0;
  virtual Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) = 0;
  virtual Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                          StreamHandle stream) = 0;
};

// INVALID_ARGUMENT for 0 bytes, an alignment that is no power of two, or an empty tag.
Status ValidateRequest(const AllocationRequest& request);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_ALLOCATOR_H_
