#include "benchmarks/replay/operand_arena.h"

#include <fmt/format.h>

namespace draftmark {
namespace {

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

}  // namespace

StatusOr<OperandLayout> LayOut(const OperandSet& operands, std::uint64_t guard_bytes) {
  OperandLayout layout;
  for (const Operand& operand : operands.operands()) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TensorBytes(operand.dtype, operand.shape));
    (operand.role == OperandRole::kInput ? layout.read : layout.written) +=
        Aligned(bytes + 2 * guard_bytes);
  }
  return layout;
}

OperandArena::OperandArena(const OperandSet& operands, const OperandLayout& layout, std::byte* read,
                           std::byte* written)
    : layout_(layout), read_(read), written_(written) {
  for (const Operand& operand : operands.operands()) {
    if (operand.role != OperandRole::kInput) written_names_.insert(operand.name);
  }
}

void OperandArena::BeginCopy(std::uint64_t index) {
  copy_ = index;
  used_ = {};
}

StatusOr<DeviceAddress> OperandArena::Allocate(const AllocationRequest& request) {
  DM_RETURN_IF_ERROR(ValidateRequest(request));
  const bool written = written_names_.contains(request.tag);
  std::uint64_t& used = written ? used_.written : used_.read;
  const std::uint64_t room = written ? layout_.written : layout_.read;
  const std::uint64_t bytes = Aligned(request.bytes);
  if (bytes > room - used) {
    return ResourceExhaustedError(
        fmt::format("{}: {} bytes are wanted, and {} are left of its copy", request.tag,
                    request.bytes, room - used));
  }
  std::byte* const address = (written ? written_ : read_) + copy_ * room + used;
  used += bytes;
  return DeviceAddress{address};
}

Status OperandArena::GetBytes(DeviceAddress, std::span<std::byte>, StreamHandle) {
  return UnimplementedError("an operand arena copies nothing");
}

Status OperandArena::PutBytes(DeviceAddress, std::span<const std::byte>, StreamHandle) {
  return UnimplementedError("an operand arena copies nothing");
}

}  // namespace draftmark
