#include "src/base/failing_new.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace draftmark {
namespace {

std::atomic<std::int64_t> live = 0;
std::atomic<std::int64_t> made = 0;
std::atomic<std::int64_t> until_failure = 0;  // 0: none is to fail
std::atomic<bool> failed = false;

// Alignments above malloc's own have their own function.
void* Allocate(std::size_t bytes, std::size_t alignment) {
  ++made;
  if (until_failure > 0 && --until_failure == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  const std::size_t some = bytes == 0 ? 1 : bytes;
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(some)
          : std::aligned_alloc(alignment, (some + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  ++live;
  return memory;
}

void* AllocateOrNull(std::size_t bytes, std::size_t alignment) noexcept {
  try {
    return Allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Free(void* memory) {
  if (memory == nullptr) return;
  --live;
  std::free(memory);
}

}  // namespace

HostAllocations CountHostAllocations() { return {live, made}; }

void FailHostAllocation(std::int64_t number) {
  failed = false;
  until_failure = number;
}

bool StopFailing() {
  until_failure = 0;
  return failed;
}

}  // namespace draftmark

// All of them, though the standard library's other forms end in the first two: a sanitizer's runtime has forms of its own,
// which do not, and whose memory is not for our delete.
void* operator new(std::size_t bytes) { return draftmark::Allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return draftmark::Allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return draftmark::Allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return draftmark::Allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return draftmark::AllocateOrNull(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return draftmark::AllocateOrNull(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return draftmark::AllocateOrNull(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return draftmark::AllocateOrNull(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { draftmark::Free(memory); }
void operator delete[](void* memory) noexcept { draftmark::Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { draftmark::Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { draftmark::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { draftmark::Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { draftmark::Free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  draftmark::Free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  draftmark::Free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { draftmark::Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { draftmark::Free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  draftmark::Free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  draftmark::Free(memory);
}
