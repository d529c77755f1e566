// CheckingAllocator: finds the memory errors of whoever uses the memory of the allocator inside.
//
//   CheckingAllocator checking(cuda, {.wait_for_device = SynchronizeDevice});
//   LedgerAllocator allocator(checking, ledger);   // outside: counts what was requested
//   ... work in memory of `allocator` on `stream` ...
//   DM_RETURN_IF_ERROR(checking.Check(stream));
//
// - Writes outside: every buffer lies between two red zones, which Check and Free compare. The rear
//   one begins at the first byte behind the requested ones, whatever their number.
// - Reads outside: a red zone is full of NaN (below), so they show in results.
// - Reads of what nobody wrote: fresh memory is poisoned, and Repoison does it again between runs
//   (spec/dflash_scratch.md section 5: 0x00, 0xFF and random).
// - Use after free: contents are filled with 0xFF before the inner Free.
//
// The byte of a red zone at offset o from its buffer depends on o and on the allocation, so that a
// copy that runs over is noticed even where it brings another red zone's bytes along. Every element
// of 2, 4 or 8 bytes is a NaN as BF16, F16, F32 or F64 (BF16 0x7F81 to 0x7FFE), and as an integer
// is a large positive one. No low byte is 0x80 or 0xFF, so the values most often written by
// mistake differ in every element: numbers, infinities, CUDA's own NaN (0x7FFF), 0x00 and 0xFF.
//
// Inner requests are enlarged by both zones and aligned to at least kDeviceAlignment, the tag is
// kept. Each message of damage names tag, side, offset, expected and found byte.
//
// Ownership: the inner allocator must outlive this, which gives back what is still allocated when
// it is destroyed. Thread-safe. Not for use inside a captured region.
#ifndef DRAFTMARK_SRC_SCRATCH_CHECKING_ALLOCATOR_H_
#define DRAFTMARK_SRC_SCRATCH_CHECKING_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/scratch/allocator.h"
#include "src/scratch/poison.h"

namespace draftmark {

struct CheckingOptions {
  // Each red zone; a multiple of kDeviceAlignment above 0. The one before a buffer of a larger
  // alignment is as long as that alignment needs. One as long as the widest row also catches a
  // write that begins a row too far.
  std::uint64_t zone_bytes = 256;
  Poison poison = Poison::kOnes;  // of fresh memory
  std::uint64_t poison_seed = 0;  // Poison::kRandom only
  // Called before a buffer is checked and poisoned by Free: waits for all work that may still use
  // it, on any stream (SynchronizeDevice for CUDA, whose own Free waits too). Empty: no wait, for
  // memory that only the host uses.
  std::function<Status()> wait_for_device = {};
};

class CheckingAllocator final : public Allocator {
 public:
  explicit CheckingAllocator(Allocator& inner, CheckingOptions options = {});
  CheckingAllocator(const CheckingAllocator&) = delete;
  CheckingAllocator& operator=(const CheckingAllocator&) = delete;
  ~CheckingAllocator() override;

  // Red zones and poison are in place when it returns, for every stream.
  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override;
  // DATA_LOSS: the memory was given back, but its red zones are damaged or could not be read. The
  // first such finding is kept for Check, since many owners have no use for the status of a Free.
  // After any other failure the buffer is still allocated; its contents are lost.
  Status Free(DeviceAddress address) override;
  // These refuse ranges that reach into a red zone.
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override;
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override;
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override;

  // Waits for the stream (work on others is the caller's to wait for) and compares the red zones of
  // all live buffers, the oldest first. INTERNAL names the first damaged byte; what Free found
  // comes before that. Damage is not repaired: every later Check reports it again. Also the errors
  // of the inner GetBytes.
  Status Check(StreamHandle stream);

  // Fills the live buffers whose tag is selected, as SetBytes and PutBytes do. Red zones stay as
  // they are.
  Status Repoison(const std::function<bool(std::string_view tag)>& selected, Poison poison,
                  std::uint64_t seed, StreamHandle stream);

 private:
  struct Block {
    std::string tag;
    std::uint64_t bytes = 0;   // requested
    std::uint64_t front = 0;   // bytes of the red zone before
    std::uint64_t serial = 0;  // counts allocations
  };
  using Blocks = std::map<std::uintptr_t, Block>;

  Status Prepare(DeviceAddress address, const Block& block);
  Status CheckZones(DeviceAddress address, const Block& block, StreamHandle stream);
  Status Fill(DeviceAddress address, std::uint64_t bytes, Poison poison, std::uint64_t seed,
              StreamHandle stream);
  Status CheckInside(DeviceAddress address, std::uint64_t bytes, std::string_view what) const;

  Allocator& inner_;
  const CheckingOptions options_;
  mutable std::mutex mutex_;  // held over whole calls, since an address may come again at once
  Blocks live_;
  std::uint64_t serial_ = 0;
  Status found_by_free_;                 // the first
  std::vector<DeviceAddress> stranded_;  // of inner_, whose roll-back in Allocate failed
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_CHECKING_ALLOCATOR_H_
