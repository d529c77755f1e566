#include "src/scratch/dflash_scratch.h"

#include <fmt/format.h>

#include <utility>

#include "src/scratch/dflash_borrows.h"

namespace draftmark {

StatusOr<std::unique_ptr<DflashScratchMemory>> DflashScratchMemory::Create(
    const DflashScratchLayout& layout, Allocator& allocator, EventSource& events,
    DflashScratchOptions options) {
  DM_RETURN_IF_ERROR(
      CheckPrecompute(layout, options.allow_short_precompute ? 1 : layout.ctx_window()));
  std::unique_ptr<DflashScratchMemory> memory(new DflashScratchMemory(layout, allocator, events));
  if (Status status = memory->AllocateAll(); !status.ok()) {
    if (const Status rollback = memory->Release(); !rollback.ok()) {
      return Status(status.code(), fmt::format("{} (and the roll-back failed: {})",
                                               status.message(), rollback.message()));
    }
    return status;
  }
  return memory;
}

Status DflashScratchMemory::AllocateAll() {
  for (const DflashFieldLayout& entry : layout_.fields()) {
    const DflashField& field = *entry.field;
    if (entry.is_null) continue;
    switch (field.memory) {
      case DflashMemory::kDevice: {
        DM_ASSIGN_OR_RETURN(
            field.address(scratch_),
            allocator_.Allocate(
                {.bytes = entry.bytes, .alignment = entry.alignment, .tag = field.name}));
        break;
      }
      case DflashMemory::kHostPinned:
        DM_RETURN_IF_ERROR(AllocatePinned(entry));
        break;
      case DflashMemory::kEvent: {
        StatusOr<std::uint64_t> event = events_.Create();
        if (!event.ok()) return event.status().Annotated(field.name);
        scratch_.draft_tokens_event = *event;
        break;
      }
    }
  }
  return OkStatus();
}

Status DflashScratchMemory::AllocatePinned(const DflashFieldLayout& entry) {
  const std::string_view name = entry.field->name;
  DM_ASSIGN_OR_RETURN(const DeviceAddress address,
                      allocator_.Allocate({.bytes = entry.bytes,
                                           .alignment = entry.alignment,
                                           .kind = MemoryKind::kHostPinned,
                                           .tag = name}));
  // The only store: nobody else sees the struct before Create returns.
  scratch_.draft_tokens_host_pinned.store(static_cast<std::uint8_t*>(address.value),
                                          std::memory_order_relaxed);
  return allocator_.SetBytes(address, entry.bytes, 0, {}).Annotated(name);
}

DflashScratchMemory::~DflashScratchMemory() { (void)Release(); }

Status DflashScratchMemory::Release() {
  Status first;
  const auto keep_first = [&first](const Status& status, std::string_view field) {
    if (first.ok()) first = status.Annotated(field);
  };
  for (const DflashFieldLayout& entry : layout_.fields()) {
    const DflashField& field = *entry.field;
    switch (field.memory) {
      case DflashMemory::kDevice: {
        const DeviceAddress address = field.address(scratch_);
        field.address(scratch_) = DeviceAddress();
        if (!address.is_null()) keep_first(allocator_.Free(address), field.name);
        break;
      }
      case DflashMemory::kHostPinned: {
        std::uint8_t* const pinned =
            scratch_.draft_tokens_host_pinned.exchange(nullptr, std::memory_order_relaxed);
        if (pinned != nullptr) keep_first(allocator_.Free(DeviceAddress{pinned}), field.name);
        break;
      }
      case DflashMemory::kEvent: {
        const std::uint64_t event = std::exchange(scratch_.draft_tokens_event, 0);
        if (event != 0) keep_first(events_.Destroy(event), field.name);
        break;
      }
    }
  }
  return first;
}

}  // namespace draftmark
