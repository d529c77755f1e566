#include "kernels/plugin/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "src/base/checked.h"
#include "src/base/errno_status.h"
#include "src/base/guard_pattern.h"

namespace draftmark::plugin {
namespace {

constexpr char kName[] = "draftmark-operands";

// In `begin` to `end` of the memory.
std::optional<std::int64_t> FirstChanged(std::span<const std::byte> memory, std::uint64_t begin,
                                         std::uint64_t end) {
  const auto changed = FirstBrokenGuard(memory.subspan(begin, end - begin), begin);
  if (!changed) return std::nullopt;
  return static_cast<std::int64_t>(begin + *changed);
}

}  // namespace

StatusOr<SharedMemory> SharedMemory::Create() {
  SharedMemory memory;
  memory.descriptor_ = memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.descriptor_ < 0) return ErrnoStatus(errno, "create", "shared memory");
  if (fcntl(memory.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return ErrnoStatus(errno, "seal", "shared memory");
  }
  return memory;
}

StatusOr<SharedMemory> SharedMemory::Open(int descriptor, std::uint64_t bytes) {
  SharedMemory memory;
  DM_RETURN_IF_ERROR(memory.Map(descriptor, bytes));
  return memory;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

Status SharedMemory::Resize(std::uint64_t bytes) {
  if (bytes <= bytes_.size()) return OkStatus();
  if (bytes > std::uint64_t{std::numeric_limits<off_t>::max()}) {
    return ResourceExhaustedError("shared memory: more bytes than a file can have");
  }
  // Unlike ftruncate it says so now if there is not enough memory.
  if (const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes)); error != 0) {
    return ErrnoStatus(error, "enlarge", "shared memory");
  }
  return Map(descriptor_, bytes);
}

Status SharedMemory::Map(int descriptor, std::uint64_t bytes) {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
  if (bytes == 0) return OkStatus();
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return ErrnoStatus(errno, "map", "shared memory");
  bytes_ = {static_cast<std::byte*>(mapped), bytes};
  return OkStatus();
}

StatusOr<Regions> LayOut(std::span<const std::uint64_t> sizes) {
  Regions regions;
  CheckedU64 end = kGuardBytes;
  for (const std::uint64_t size : sizes) {
    regions.list.push_back({.offset = end.value(), .bytes = size});
    end = RoundUp(end + size + kGuardBytes, kRegionAlignment);
    if (!end.ok()) return OutOfRangeError("the operands of a case exceed 64 bits");
  }
  regions.total = end.value();
  return regions;
}

void FillGuards(std::span<std::byte> memory, const Regions& regions) {
  std::uint64_t end = 0;
  for (const Region& region : regions.list) {
    FillGuard(memory.subspan(end, region.offset - end), end);
    end = region.offset + region.bytes;
  }
  FillGuard(memory.subspan(end, regions.total - end), end);
}

std::optional<BrokenGuard> FindBrokenGuard(std::span<const std::byte> memory,
                                           const Regions& regions) {
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < regions.list.size(); ++i) {
    const Region& region = regions.list[i];
    const std::uint64_t behind = region.offset + region.bytes;
    const std::uint64_t next =
        i + 1 < regions.list.size() ? regions.list[i + 1].offset : regions.total;
    // The band between two regions is the first one's but for its last half.
    const std::uint64_t border = i + 1 < regions.list.size() ? next - kGuardBytes / 2 : next;
    for (const auto& [from, to] : {std::pair{begin, region.offset}, std::pair{behind, border}}) {
      if (const auto at = FirstChanged(memory, from, to)) {
        return BrokenGuard{i, *at - static_cast<std::int64_t>(region.offset)};
      }
    }
    begin = border;
  }
  return std::nullopt;
}

}  // namespace draftmark::plugin
