// SharedMemory: memory that a plug-in's process and ours both see, in which the operands of a case
// lie between guard bands.
//
//   DM_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Create());      // here
//   DM_RETURN_IF_ERROR(memory.Resize(regions.total));
//   DM_ASSIGN_OR_RETURN(SharedMemory same, SharedMemory::Open(descriptor, bytes));  // there
//
// So the operands of a kernel that crashes are still there to be looked at, and the check of what
// it wrote is not in its hands. Movable, not copyable. Errors: RESOURCE_EXHAUSTED and those of the
// system.
#ifndef DRAFTMARK_KERNELS_PLUGIN_SHARED_MEMORY_H_
#define DRAFTMARK_KERNELS_PLUGIN_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace draftmark::plugin {

class SharedMemory {
 public:
  static StatusOr<SharedMemory> Create();
  // Of another process, by an inherited descriptor, which stays the caller's.
  static StatusOr<SharedMemory> Open(int descriptor, std::uint64_t bytes);
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  // At least this many bytes; their contents are undefined, and earlier addresses invalid. Never
  // shrinks: nobody may take it away from under the other.
  Status Resize(std::uint64_t bytes);

  int descriptor() const { return descriptor_; }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  SharedMemory() = default;
  Status Map(int descriptor, std::uint64_t bytes);

  int descriptor_ = -1;  // owned
  std::span<std::byte> bytes_;
};

// Where pieces of memory lie, each behind and before a guard band.
struct Region {
  std::uint64_t offset = 0;  // a multiple of kRegionAlignment
  std::uint64_t bytes = 0;
};
struct Regions {
  std::vector<Region> list;  // one for each size
  std::uint64_t total = 0;
};
inline constexpr std::uint64_t kRegionAlignment = 256;
inline constexpr std::uint64_t kGuardBytes = 4096;  // at least, on each side

// OUT_OF_RANGE if they do not fit 64 bits.
StatusOr<Regions> LayOut(std::span<const std::uint64_t> sizes);

// Fills all that lies outside of the regions (src/base/guard_pattern.h).
void FillGuards(std::span<std::byte> memory, const Regions& regions);

// A byte of a guard band that is not what FillGuards left there.
struct BrokenGuard {
  std::size_t region = 0;
  std::int64_t offset = 0;  // from the region's first byte: negative before it
};
std::optional<BrokenGuard> FindBrokenGuard(std::span<const std::byte> memory,
                                           const Regions& regions);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_SHARED_MEMORY_H_
