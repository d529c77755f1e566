#include "src/scratch/buffer_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "src/scratch/sizing_terms.h"

namespace draftmark {
namespace {

// Before the first allocation, so that the message names the buffer instead of an allocator's code.
Status CheckAlwaysAllocated(const BufferSizes& sizes) {
  std::string empty;
  for (const BufferField& field : kBufferFields) {
    if (!field.Is(kNullable) && sizes.*field.bytes == 0) {
      empty += (empty.empty() ? "" : ", ") + std::string(field.name);
    }
  }
  if (empty.empty()) return OkStatus();
  return InvalidArgumentError(fmt::format(
      "{}: expected a size above 0 bytes for a buffer that is always allocated, found 0", empty));
}

}  // namespace

BufferArena::BufferArena(const BufferSizes& sizes, const SizingArguments& arguments,
                         Allocator& allocator)
    : sizes_(sizes),
      max_batch_tokens_(arguments.max_batch_tokens),
      decode_rows_(std::max(kMinDecodeRows, arguments.max_batch_size)),
      allocator_(&allocator) {}

StatusOr<BufferArena> BufferArena::Create(const SizingFields& config,
                                          const SizingArguments& arguments, Allocator& allocator,
                                          StreamHandle stream) {
  DM_ASSIGN_OR_RETURN(const BufferSizes sizes, BufferSizes::FromConfig(config, arguments));
  DM_RETURN_IF_ERROR(CheckAlwaysAllocated(sizes));
  BufferArena arena(sizes, arguments, allocator);
  if (Status status = arena.AllocateAll(stream); !status.ok()) {
    // The first failure is the news; one of the roll-back is added to it.
    if (const Status rollback = arena.Release(); !rollback.ok()) {
      return Status(status.code(), fmt::format("{} (and the roll-back failed: {})",
                                               status.message(), rollback.message()));
    }
    return status;
  }
  return arena;
}

Status BufferArena::AllocateAll(StreamHandle stream) {
  for (const BufferField* field : kBufferFieldsInArenaOrder) {
    const std::uint64_t bytes = sizes_.*field->bytes;
    if (bytes == 0) continue;  // nullable: CheckAlwaysAllocated has seen the others
    DM_ASSIGN_OR_RETURN(
        addresses_.*field->address,
        allocator_->Allocate({.bytes = bytes, .alignment = kDeviceAlignment, .tag = field->name}));
    if (field->Is(kZeroFilled)) {
      DM_RETURN_IF_ERROR(allocator_->SetBytes(addresses_.*field->address, bytes, 0, stream)
                             .Annotated(field->name));
    }
  }
  return OkStatus();
}

BufferArena::BufferArena(BufferArena&& other) noexcept
    : sizes_(other.sizes_),
      addresses_(std::exchange(other.addresses_, {})),
      max_batch_tokens_(other.max_batch_tokens_),
      decode_rows_(other.decode_rows_),
      allocator_(std::exchange(other.allocator_, nullptr)) {}

BufferArena& BufferArena::operator=(BufferArena&& other) noexcept {
  if (this == &other) return *this;
  (void)Release();  // nobody to tell; whoever wants to know releases first
  sizes_ = other.sizes_;
  addresses_ = std::exchange(other.addresses_, {});
  max_batch_tokens_ = other.max_batch_tokens_;
  decode_rows_ = other.decode_rows_;
  allocator_ = std::exchange(other.allocator_, nullptr);
  return *this;
}

BufferArena::~BufferArena() { (void)Release(); }

Status BufferArena::Clear(BufferFlag flag, StreamHandle stream) {
  for (const BufferField& field : kBufferFields) {
    if (!field.Is(flag)) continue;
    const DeviceAddress address = addresses_.*field.address;
    if (address.is_null()) {
      return FailedPreconditionError(
          fmt::format("{}: cannot be cleared, the arena is released", field.name));
    }
    DM_RETURN_IF_ERROR(
        allocator_->SetBytes(address, sizes_.*field.bytes, 0, stream).Annotated(field.name));
  }
  return OkStatus();
}

Status BufferArena::ClearBeforePrefill(StreamHandle stream) {
  return Clear(kClearedBeforePrefill, stream);
}

Status BufferArena::ClearBetweenRequests(StreamHandle stream) {
  return Clear(kClearedBetweenRequests, stream);
}

Status BufferArena::Release() {
  Status first;
  for (const BufferField* field : kBufferFieldsInArenaOrder) {
    const DeviceAddress address = std::exchange(addresses_.*field->address, DeviceAddress());
    if (address.is_null()) continue;
    const Status status = allocator_->Free(address).Annotated(field->name);
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace draftmark
