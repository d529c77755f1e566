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

}  // namespace draftmark
