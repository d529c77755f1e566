#include "src/cuda/cuda_allocator.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "fmt/format.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/stream.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kPageBytes = 4096;  // page-locked memory starts at a page

Status FreeBlock(void* address, MemoryKind kind) {
  if (kind == MemoryKind::kDevice) return CudaStatus(cudaFree(address), "cudaFree");
  return CudaStatus(cudaFreeHost(address), "cudaFreeHost");
}

Status Unknown(DeviceAddress address) {
  return InvalidArgumentError(
      fmt::format("{}: no live allocation of this allocator", fmt::ptr(address.value)));
}

}  // namespace

CudaAllocator::~CudaAllocator() {
  for (const auto& [address, block] : live_) {
    // At exit the driver may be gone already, and its memory with it.
    (void)FreeBlock(reinterpret_cast<void*>(address), block.kind);
  }
}

StatusOr<DeviceAddress> CudaAllocator::Allocate(const AllocationRequest& request) {
  DM_RETURN_IF_ERROR(ValidateRequest(request));
  const bool device = request.kind == MemoryKind::kDevice;
  const std::uint64_t promised = device ? kDeviceAlignment : kPageBytes;
  if (request.alignment > promised) {
    return InvalidArgumentError(fmt::format("{}: expected an alignment of at most {}, found {}",
                                            request.tag, promised, request.alignment));
  }
  void* address = nullptr;
  const cudaError_t error =
      device ? cudaMalloc(&address, request.bytes) : cudaMallocHost(&address, request.bytes);
  if (error != cudaSuccess) {
    return CudaStatus(error, device ? "cudaMalloc" : "cudaMallocHost")
        .Annotated(fmt::format("{}: {} bytes of {} memory", request.tag, request.bytes,
                               MemoryKindName(request.kind)));
  }
  // Nothing may throw until the list has the address.
  try {
    const std::lock_guard lock(mutex_);
    live_[reinterpret_cast<std::uintptr_t>(address)] = {request.bytes, request.kind};
  } catch (const std::bad_alloc&) {  // nobody would free what is in no list
    (void)(device ? cudaFree(address) : cudaFreeHost(address));
    return ResourceExhaustedError(fmt::format("{}: out of host memory", request.tag));
  }
  return DeviceAddress{address};
}

Status CudaAllocator::Free(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(address.bits());
  if (found == live_.end()) return Unknown(address);
  DM_RETURN_IF_ERROR(FreeBlock(address.value, found->second.kind));
  live_.erase(found);
  return OkStatus();
}

Status CudaAllocator::SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                               StreamHandle stream) {
  DM_ASSIGN_OR_RETURN(const MemoryKind kind, KindOfRange(address, bytes));
  if (bytes == 0) return OkStatus();
  if (kind == MemoryKind::kHostPinned) {
    std::memset(address.value, value, bytes);
    return OkStatus();
  }
  return CudaStatus(cudaMemsetAsync(address.value, value, bytes, StreamOf(stream)),
                    "cudaMemsetAsync");
}

Status CudaAllocator::GetBytes(DeviceAddress address, std::span<std::byte> out,
                               StreamHandle stream) {
  DM_ASSIGN_OR_RETURN(const MemoryKind kind, KindOfRange(address, out.size()));
  if (kind == MemoryKind::kDevice) DM_RETURN_IF_ERROR(CopyToHost(out, address, StreamOf(stream)));
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(StreamOf(stream)), "cudaStreamSynchronize"));
  if (kind == MemoryKind::kHostPinned && !out.empty()) {
    std::memcpy(out.data(), address.value, out.size());
  }
  return OkStatus();
}

Status CudaAllocator::PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                               StreamHandle stream) {
  DM_ASSIGN_OR_RETURN(const MemoryKind kind, KindOfRange(address, bytes.size()));
  if (kind == MemoryKind::kDevice) {
    DM_RETURN_IF_ERROR(CopyToDevice(address, bytes, StreamOf(stream)));
  }
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(StreamOf(stream)), "cudaStreamSynchronize"));
  if (kind == MemoryKind::kHostPinned && !bytes.empty()) {
    std::memcpy(address.value, bytes.data(), bytes.size());
  }
  return OkStatus();
}

StatusOr<MemoryKind> CudaAllocator::KindOfRange(DeviceAddress address, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto found = live_.upper_bound(address.bits());
  if (found == live_.begin()) return Unknown(address);
  --found;
  const std::uint64_t offset = address.bits() - found->first;
  if (offset > found->second.bytes || bytes > found->second.bytes - offset) return Unknown(address);
  return found->second.kind;
}

std::uint64_t CudaAllocator::live_count() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

}  // namespace draftmark
