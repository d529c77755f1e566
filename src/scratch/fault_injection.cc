#include "src/scratch/fault_injection.h"

#include <fmt/format.h>

namespace draftmark {

StatusOr<DeviceAddress> FaultInjectingAllocator::Allocate(const AllocationRequest& request) {
  const std::uint64_t call = ++allocations_;
  if (call == plan_.fail_allocation) {
    return ResourceExhaustedError(
        fmt::format("{}: injected failure of allocation {}", request.tag, call));
  }
  return inner_.Allocate(request);
}

Status FaultInjectingAllocator::Free(DeviceAddress address) {
  const std::uint64_t call = ++frees_;
  if (plan_.fail_frees.count(call) != 0) {
    return InternalError(fmt::format("injected failure of free {}", call));
  }
  return inner_.Free(address);
}

Status FaultInjectingAllocator::SetBytes(DeviceAddress address, std::uint64_t bytes,
                                         std::uint8_t value, StreamHandle stream) {
  const std::uint64_t call = ++fills_;
  if (call == plan_.fail_fill) {
    return InternalError(fmt::format("injected failure of fill {}", call));
  }
  return inner_.SetBytes(address, bytes, value, stream);
}

Status FaultInjectingAllocator::GetBytes(DeviceAddress address, std::span<std::byte> out,
                                         StreamHandle stream) {
  const std::uint64_t call = ++gets_;
  if (call == plan_.fail_get) {
    return InternalError(fmt::format("injected failure of read {}", call));
  }
  return inner_.GetBytes(address, out, stream);
}

Status FaultInjectingAllocator::PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                                         StreamHandle stream) {
  const std::uint64_t call = ++puts_;
  if (call == plan_.fail_put) {
    return InternalError(fmt::format("injected failure of write {}", call));
  }
  return inner_.PutBytes(address, bytes, stream);
}

}  // namespace draftmark
