#include "src/scratch/checking_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/check.h"
#include "src/base/checked.h"
#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kPoisonPieceBytes = std::uint64_t{1} << 20;

// The byte of a red zone at `offset` from its buffer's start. Buffers are aligned, so the offset
// says which byte of an element this is: little-endian, the high one is odd. 0x7F there and a low
// byte above 0x80 make every BF16, F16 and F32 a NaN; F64 needs four more bits of its exponent.
std::byte CanaryAt(std::uint64_t serial, std::int64_t offset) {
  const auto position = static_cast<std::uint64_t>(offset);
  if (position % 2 == 1) return std::byte{0x7F};
  const std::uint64_t bits = BitsAt(serial, position);
  return static_cast<std::byte>(position % 8 == 6 ? 0xF0 + bits % 15 : 0x81 + bits % 126);
}

struct Zone {
  std::string_view side;
  std::int64_t offset;  // of its first byte, from the buffer's start
  std::uint64_t bytes;
};

DeviceAddress Plus(DeviceAddress address, std::int64_t offset) {
  return {static_cast<std::byte*>(address.value) + offset};
}

std::array<Zone, 2> ZonesOf(std::uint64_t front, std::uint64_t bytes, std::uint64_t rear) {
  return {Zone{"before", -static_cast<std::int64_t>(front), front},
          Zone{"behind", static_cast<std::int64_t>(bytes), rear}};
}

// The first failure of several steps that are all taken.
void KeepFirst(Status& first, const Status& status) {
  if (first.ok()) first = status;
}

}  // namespace

CheckingAllocator::CheckingAllocator(Allocator& inner, CheckingOptions options)
    : inner_(inner), options_(std::move(options)) {
  DM_CHECK(options_.zone_bytes > 0 && options_.zone_bytes % kDeviceAlignment == 0);
}

CheckingAllocator::~CheckingAllocator() {
  for (const auto& [address, block] : live_) {
    (void)inner_.Free({reinterpret_cast<void*>(address - block.front)});
  }
  for (const DeviceAddress address : stranded_) (void)inner_.Free(address);
}

StatusOr<DeviceAddress> CheckingAllocator::Allocate(const AllocationRequest& request) {
  DM_RETURN_IF_ERROR(ValidateRequest(request));
  AllocationRequest enlarged = request;
  enlarged.alignment = std::max(request.alignment, kDeviceAlignment);
  const CheckedU64 front = RoundUp(CheckedU64(options_.zone_bytes), enlarged.alignment);
  const CheckedU64 total = front + request.bytes + options_.zone_bytes;
  const std::string what =
      fmt::format("{}: {} bytes between two red zones", request.tag, request.bytes);
  if (!total.ok()) return ResourceExhaustedError(what + " exceed all memory");
  enlarged.bytes = total.value();
  const std::lock_guard lock(mutex_);
  const StatusOr<DeviceAddress> inner = inner_.Allocate(enlarged);
  if (!inner.ok()) return inner.status().Annotated(what);
  const Block block{std::string(request.tag), request.bytes, front.value(), ++serial_};
  const DeviceAddress address = Plus(*inner, static_cast<std::int64_t>(block.front));
  if (const Status status = Prepare(address, block); !status.ok()) {
    const Status rollback = inner_.Free(*inner);
    if (rollback.ok()) return status.Annotated(what);
    stranded_.push_back(*inner);
    return Status(status.code(), fmt::format("{}: {} (and the roll-back failed: {})", what,
                                             status.message(), rollback.message()));
  }
  live_.emplace(address.bits(), block);
  return address;
}

Status CheckingAllocator::Prepare(DeviceAddress address, const Block& block) {
  DM_RETURN_IF_ERROR(Fill(address, block.bytes, options_.poison, options_.poison_seed, {}));
  // Last, since PutBytes waits: the caller may use any stream from now on.
  std::vector<std::byte> canaries;
  for (const Zone& zone : ZonesOf(block.front, block.bytes, options_.zone_bytes)) {
    canaries.resize(zone.bytes);
    for (std::size_t i = 0; i < canaries.size(); ++i) {
      canaries[i] = CanaryAt(block.serial, zone.offset + static_cast<std::int64_t>(i));
    }
    DM_RETURN_IF_ERROR(inner_.PutBytes(Plus(address, zone.offset), canaries, {}));
  }
  return OkStatus();
}

Status CheckingAllocator::Free(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  const auto entry = live_.find(address.bits());
  if (entry == live_.end()) {
    return InvalidArgumentError(
        fmt::format("free of {:#x}, which is not allocated (freed twice, or of another allocator)",
                    address.bits()));
  }
  const Block& block = entry->second;
  Status found;
  if (options_.wait_for_device) {
    KeepFirst(found, options_.wait_for_device().Annotated(block.tag));
  }
  KeepFirst(found, CheckZones(address, block, {}));
  KeepFirst(found, Fill(address, block.bytes, Poison::kOnes, 0, {}).Annotated(block.tag));
  DM_RETURN_IF_ERROR(inner_.Free(Plus(address, -static_cast<std::int64_t>(block.front))));
  if (!found.ok()) {
    found = DataLossError("found when freed: " + found.message());
    KeepFirst(found_by_free_, InternalError(found.message()));
  }
  live_.erase(entry);
  return found;
}

Status CheckingAllocator::CheckZones(DeviceAddress address, const Block& block,
                                     StreamHandle stream) {
  std::vector<std::byte> bytes;
  for (const Zone& zone : ZonesOf(block.front, block.bytes, options_.zone_bytes)) {
    bytes.resize(zone.bytes);
    DM_RETURN_IF_ERROR(inner_.GetBytes(Plus(address, zone.offset), bytes, stream)
                           .Annotated(fmt::format("{}: red zone {}", block.tag, zone.side)));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::int64_t offset = zone.offset + static_cast<std::int64_t>(i);
      const std::byte expected = CanaryAt(block.serial, offset);
      if (bytes[i] == expected) continue;
      return InternalError(fmt::format(
          "{}: red zone {} is damaged at offset {} of a buffer of {} bytes: expected {:#04x}, "
          "found {:#04x}",
          block.tag, zone.side, offset, block.bytes, std::to_integer<unsigned>(expected),
          std::to_integer<unsigned>(bytes[i])));
    }
  }
  return OkStatus();
}

Status CheckingAllocator::Check(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  DM_RETURN_IF_ERROR(found_by_free_);
  std::vector<const Blocks::value_type*> oldest_first;
  for (const Blocks::value_type& entry : live_) oldest_first.push_back(&entry);
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const auto* a, const auto* b) { return a->second.serial < b->second.serial; });
  for (const Blocks::value_type* const entry : oldest_first) {
    DM_RETURN_IF_ERROR(CheckZones({reinterpret_cast<void*>(entry->first)}, entry->second, stream));
  }
  return OkStatus();
}

Status CheckingAllocator::Repoison(const std::function<bool(std::string_view tag)>& selected,
                                   Poison poison, std::uint64_t seed, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, block] : live_) {
    if (!selected(block.tag)) continue;
    DM_RETURN_IF_ERROR(Fill({reinterpret_cast<void*>(address)}, block.bytes, poison, seed, stream)
                           .Annotated(block.tag));
  }
  return OkStatus();
}

Status CheckingAllocator::Fill(DeviceAddress address, std::uint64_t bytes, Poison poison,
                               std::uint64_t seed, StreamHandle stream) {
  if (poison == Poison::kNone) return OkStatus();
  if (poison != Poison::kRandom) {
    return inner_.SetBytes(address, bytes, poison == Poison::kZeros ? 0x00 : 0xFF, stream);
  }
  std::vector<std::byte> piece;
  for (std::uint64_t first = 0; first < bytes; first += kPoisonPieceBytes) {
    piece.resize(std::min(kPoisonPieceBytes, bytes - first));
    FillPoison(piece, poison, seed, first);
    DM_RETURN_IF_ERROR(
        inner_.PutBytes(Plus(address, static_cast<std::int64_t>(first)), piece, stream));
  }
  return OkStatus();
}

Status CheckingAllocator::SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                                   StreamHandle stream) {
  DM_RETURN_IF_ERROR(CheckInside(address, bytes, "fill"));
  return inner_.SetBytes(address, bytes, value, stream);
}

Status CheckingAllocator::GetBytes(DeviceAddress address, std::span<std::byte> out,
                                   StreamHandle stream) {
  DM_RETURN_IF_ERROR(CheckInside(address, out.size(), "read"));
  return inner_.GetBytes(address, out, stream);
}

Status CheckingAllocator::PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                                   StreamHandle stream) {
  DM_RETURN_IF_ERROR(CheckInside(address, bytes.size(), "write"));
  return inner_.PutBytes(address, bytes, stream);
}

Status CheckingAllocator::CheckInside(DeviceAddress address, std::uint64_t bytes,
                                      std::string_view what) const {
  const std::lock_guard lock(mutex_);
  // The buffer that starts at or before the address must hold the whole range.
  auto after = live_.upper_bound(address.bits());
  if (after == live_.begin()) {
    return InvalidArgumentError(
        fmt::format("{} of {} bytes at {:#x}, where no buffer is", what, bytes, address.bits()));
  }
  const auto& [start, block] = *--after;
  const std::uint64_t offset = address.bits() - start;
  if (offset <= block.bytes && bytes <= block.bytes - offset) return OkStatus();
  return InvalidArgumentError(fmt::format("{}: {} of {} bytes at offset {} leaves the {} bytes",
                                          block.tag, what, bytes, offset, block.bytes));
}

}  // namespace draftmark
