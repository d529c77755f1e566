// CudaAllocator: memory of the current device, and page-locked host memory, behind the Allocator
// interface (src/scratch/allocator.h, whose rules it keeps).
//
//   CudaAllocator allocator;
//   DM_ASSIGN_OR_RETURN(const DeviceAddress logits,
//                       allocator.Allocate({.bytes = 4096, .tag = "logits"}));
//
// Each request is one cudaMalloc or cudaMallocHost: no pool, so that the bytes of a ledger are the
// bytes of the device, and compute-sanitizer sees every border. Memory still allocated when the
// allocator is destroyed is returned. Thread-safe. Not for use inside a captured region.
#ifndef DRAFTMARK_SRC_CUDA_CUDA_ALLOCATOR_H_
#define DRAFTMARK_SRC_CUDA_CUDA_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "src/scratch/allocator.h"

namespace draftmark {

class CudaAllocator final : public Allocator {
 public:
  CudaAllocator() = default;
  CudaAllocator(const CudaAllocator&) = delete;
  CudaAllocator& operator=(const CudaAllocator&) = delete;
  ~CudaAllocator() override;

  // Also INVALID_ARGUMENT: an alignment above kDeviceAlignment (or above a page, pinned).
  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override;
  // Waits for the device, as cudaFree does.
  Status Free(DeviceAddress address) override;
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override;
  // These wait for the stream for pinned memory too: the device may be about to write or read it.
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override;
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override;

  // Allocations that are not freed.
  std::uint64_t live_count() const;

 private:
  struct Block {
    std::uint64_t bytes = 0;
    MemoryKind kind = MemoryKind::kDevice;
  };

  // Of the live allocation that holds the whole range; INVALID_ARGUMENT if none does.
  StatusOr<MemoryKind> KindOfRange(DeviceAddress address, std::uint64_t bytes) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Block> live_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_CUDA_ALLOCATOR_H_
