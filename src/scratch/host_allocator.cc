#include "src/scratch/host_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace draftmark {
HostAllocator::~HostAllocator() {
  for (const auto& [memory, block] : live_) {
    ::operator delete(memory, std::align_val_t(block.alignment));
  }
}

StatusOr<DeviceAddress> HostAllocator::Allocate(const AllocationRequest& request) {
  DM_RETURN_IF_ERROR(ValidateRequest(request));
  const std::uint64_t alignment = std::max(request.alignment, kDeviceAlignment);
  void* memory = nullptr;
  if (request.bytes <= options_.largest_request) {
    memory = ::operator new(request.bytes, std::align_val_t(alignment), std::nothrow);
  }
  if (memory == nullptr) {
    return ResourceExhaustedError(
        fmt::format("{}: no {} bytes of host memory left", request.tag, request.bytes));
  }
  FillPoison({static_cast<std::byte*>(memory), request.bytes}, options_.poison,
             options_.poison_seed);
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    live_[memory] = {request.bytes, alignment};
  } catch (const std::bad_alloc&) {  // nobody would free what is in no list
    ::operator delete(memory, std::align_val_t(alignment));
    return ResourceExhaustedError(fmt::format("{}: out of host memory", request.tag));
  }
  return DeviceAddress{memory};
}

Status HostAllocator::Free(DeviceAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(address.value);
  if (found == live_.end()) {
    return InvalidArgumentError(
        fmt::format("free of {:#x}, which is not allocated (freed twice, or of another allocator)",
                    address.bits()));
  }
  ::operator delete(found->first, std::align_val_t(found->second.alignment));
  live_.erase(found);
  return OkStatus();
}

Status HostAllocator::SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                               StreamHandle /*stream*/) {
  DM_RETURN_IF_ERROR(CheckInside(address, bytes, "fill"));
  if (bytes > 0) std::memset(address.value, value, bytes);
  return OkStatus();
}

Status HostAllocator::GetBytes(DeviceAddress address, std::span<std::byte> out,
                               StreamHandle /*stream*/) {
  DM_RETURN_IF_ERROR(CheckInside(address, out.size(), "read"));
  if (!out.empty()) std::memcpy(out.data(), address.value, out.size());
  return OkStatus();
}

Status HostAllocator::PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                               StreamHandle /*stream*/) {
  DM_RETURN_IF_ERROR(CheckInside(address, bytes.size(), "write"));
  if (!bytes.empty()) std::memcpy(address.value, bytes.data(), bytes.size());
  return OkStatus();
}

Status HostAllocator::CheckInside(DeviceAddress address, std::uint64_t bytes,
                                  std::string_view what) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The block that starts at or before the address must hold the whole range.
  auto after = live_.upper_bound(address.value);
  const bool inside = after != live_.begin() && [&] {
    const auto& [start, block] = *--after;
    const std::uint64_t offset = address.bits() - reinterpret_cast<std::uintptr_t>(start);
    return offset <= block.bytes && bytes <= block.bytes - offset;
  }();
  if (inside) return OkStatus();
  return InvalidArgumentError(fmt::format("{} of {} bytes at {:#x} leaves the allocated block",
                                          what, bytes, address.bits()));
}

std::uint64_t HostAllocator::live_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return live_.size();
}

}  // namespace draftmark
