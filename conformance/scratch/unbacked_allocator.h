// UnbackedAllocator: hands out device addresses with no memory behind them, so that scratch of any
// size can be "allocated" and counted on any machine. Pinned host memory is real, since it is
// zeroed. For one thread.
#ifndef DRAFTMARK_CONFORMANCE_SCRATCH_UNBACKED_ALLOCATOR_H_
#define DRAFTMARK_CONFORMANCE_SCRATCH_UNBACKED_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

#include "src/base/status.h"
#include "src/scratch/allocator.h"
#include "src/scratch/host_allocator.h"

namespace draftmark {

class UnbackedAllocator final : public Allocator {
 public:
  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override {
    if (request.kind == MemoryKind::kHostPinned) return pinned_.Allocate(request);
    DM_RETURN_IF_ERROR(ValidateRequest(request));
    // Never read or written: only distinct.
    const DeviceAddress address{reinterpret_cast<void*>(next_)};
    next_ += kDeviceAlignment;
    live_.insert(address.bits());
    return address;
  }
  Status Free(DeviceAddress address) override {
    return live_.erase(address.bits()) == 1 ? OkStatus() : pinned_.Free(address);
  }
  // Only pinned memory can be filled, read and written.
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override {
    return pinned_.SetBytes(address, bytes, value, stream);
  }
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override {
    return pinned_.GetBytes(address, out, stream);
  }
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override {
    return pinned_.PutBytes(address, bytes, stream);
  }

 private:
  HostAllocator pinned_;
  std::set<std::uintptr_t> live_;
  std::uintptr_t next_ = kDeviceAlignment;  // far below anything that a process maps
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_SCRATCH_UNBACKED_ALLOCATOR_H_
