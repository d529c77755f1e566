// FaultInjectingAllocator: fails the calls that a test names. For tests only.
//
//   FaultInjectingAllocator allocator(host, {.fail_allocation = 7});   // the 7th Allocate fails
//
// Counting begins at 1; 0 means never. A failed Allocate returns RESOURCE_EXHAUSTED, any other call
// INTERNAL, and the inner allocator is not called. Thread-safe.
#ifndef DRAFTMARK_SRC_SCRATCH_FAULT_INJECTION_H_
#define DRAFTMARK_SRC_SCRATCH_FAULT_INJECTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "src/scratch/allocator.h"

namespace draftmark {

struct FaultPlan {
  std::uint64_t fail_allocation = 0;
  std::set<std::uint64_t> fail_frees = {};
  std::uint64_t fail_fill = 0;
  std::uint64_t fail_get = 0;
  std::uint64_t fail_put = 0;
};

class FaultInjectingAllocator final : public Allocator {
 public:
  FaultInjectingAllocator(Allocator& inner, FaultPlan plan)
      : inner_(inner), plan_(std::move(plan)) {}

  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override;
  Status Free(DeviceAddress address) override;
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override;
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override;
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override;

  // Calls so far, failed ones included.
  std::uint64_t allocations() const { return allocations_; }
  std::uint64_t frees() const { return frees_; }
  std::uint64_t fills() const { return fills_; }

 private:
  Allocator& inner_;
  const FaultPlan plan_;
  std::atomic<std::uint64_t> allocations_ = 0;
  std::atomic<std::uint64_t> frees_ = 0;
  std::atomic<std::uint64_t> fills_ = 0;
  std::atomic<std::uint64_t> gets_ = 0;
  std::atomic<std::uint64_t> puts_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_FAULT_INJECTION_H_
