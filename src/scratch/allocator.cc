#include "src/scratch/allocator.h"

#include <fmt/format.h>

#include <bit>

namespace draftmark {

std::string_view MemoryKindName(MemoryKind kind) {
  return kind == MemoryKind::kDevice ? "device" : "host pinned";
}

Status ValidateRequest(const AllocationRequest& request) {
  if (request.tag.empty()) return InvalidArgumentError("allocation without a tag");
  if (request.bytes == 0) {
    return InvalidArgumentError(
        fmt::format("{}: expected a size above 0 bytes, found 0", request.tag));
  }
  if (!std::has_single_bit(request.alignment)) {
    return InvalidArgumentError(fmt::format("{}: expected a power of two as alignment, found {}",
                                            request.tag, request.alignment));
  }
  return OkStatus();
}

}  // namespace draftmark
