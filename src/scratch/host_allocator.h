// HostAllocator: host memory that plays the part of a device, for the reference backend and tests.
//
//   HostAllocator allocator({.poison = Poison::kOnes});
//   DM_ASSIGN_OR_RETURN(const DeviceAddress logits,
//                       allocator.Allocate({.bytes = 4096, .tag = "logits"}));
//
// Fresh memory can be poisoned, so that a test sees who reads what nobody wrote: results must not
// depend on prior contents (spec/dflash_scratch.md section 5). Memory still allocated when the
// allocator is destroyed is returned to the system, so an injected failure of Free leaks nothing.
// Thread-safe. Errors: see Allocator.
#ifndef DRAFTMARK_SRC_SCRATCH_HOST_ALLOCATOR_H_
#define DRAFTMARK_SRC_SCRATCH_HOST_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

#include "src/scratch/allocator.h"
#include "src/scratch/poison.h"

namespace draftmark {

struct HostAllocatorOptions {
  Poison poison = Poison::kNone;
  std::uint64_t poison_seed = 0;  // kRandom only
  // Requests above this are RESOURCE_EXHAUSTED without asking the system, which would overcommit
  // (or end the process, under a sanitizer).
  std::uint64_t largest_request = std::uint64_t{64} << 30;  // bytes
};

class HostAllocator final : public Allocator {
 public:
  explicit HostAllocator(HostAllocatorOptions options = {}) : options_(options) {}
  HostAllocator(const HostAllocator&) = delete;
  HostAllocator& operator=(const HostAllocator&) = delete;
  ~HostAllocator() override;

  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override;
  Status Free(DeviceAddress address) override;
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override;
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override;
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override;

  // Blocks allocated and not freed.
  std::uint64_t live_count() const;

 private:
  struct Block {
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 0;
  };

  // INVALID_ARGUMENT if a block does not hold the whole range; `what` begins the message.
  Status CheckInside(DeviceAddress address, std::uint64_t bytes, std::string_view what) const;

  const HostAllocatorOptions options_;
  mutable std::mutex mutex_;
  std::map<void*, Block> live_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_HOST_ALLOCATOR_H_
