#include "kernels/registry/device_operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/guard_pattern.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/stream.h"
#include "src/tensor/tensor_view.h"

namespace draftmark::kernels {
namespace {

constexpr std::uint8_t kPoison = 0xFF;

StatusOr<std::vector<std::byte>> ReadAll(DeviceAddress address, std::uint64_t bytes,
                                         cudaStream_t stream) {
  std::vector<std::byte> read(bytes);
  DM_RETURN_IF_ERROR(CopyToHost(read, address, stream));
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  return read;
}

}  // namespace

StatusOr<GuardedBuffer> GuardedBuffer::Create(Allocator& allocator, std::string_view tag,
                                              std::uint64_t bytes, std::uint64_t guard_bytes,
                                              std::uint64_t shift, cudaStream_t stream) {
  DM_CHECK(guard_bytes % kDeviceAlignment == 0);
  GuardedBuffer made;
  made.tag_ = tag;
  made.offset_ = guard_bytes + shift;
  made.bytes_ = bytes;
  // At least a byte, for operands without elements.
  const std::uint64_t total = std::max<std::uint64_t>(1, made.offset_ + bytes + guard_bytes);
  DM_ASSIGN_OR_RETURN(made.buffer_, DeviceBuffer::Create(allocator, {.bytes = total, .tag = tag}));
  DM_RETURN_IF_ERROR(allocator.SetBytes(made.buffer_.address(), total, kPoison, HandleOf(stream)));
  for (const Band& band : made.Bands()) {
    if (band.begin == band.end) continue;
    std::vector<std::byte> pattern(band.end - band.begin);
    FillGuard(pattern, band.begin);
    DM_RETURN_IF_ERROR(CopyToDevice({made.buffer_.As<std::byte>() + band.begin}, pattern, stream));
  }
  return made;
}

std::array<GuardedBuffer::Band, 2> GuardedBuffer::Bands() const {
  return {Band{0, offset_}, Band{offset_ + bytes_, buffer_.bytes()}};
}

DeviceAddress GuardedBuffer::address() const { return {buffer_.As<std::byte>() + offset_}; }

Status GuardedBuffer::CheckGuards(cudaStream_t stream) const {
  for (const Band& band : Bands()) {
    DM_ASSIGN_OR_RETURN(
        const std::vector<std::byte> bytes,
        ReadAll({buffer_.As<std::byte>() + band.begin}, band.end - band.begin, stream));
    const std::optional<std::uint64_t> changed = FirstBrokenGuard(bytes, band.begin);
    if (!changed) continue;
    const auto at = static_cast<std::int64_t>(band.begin + *changed);
    return InternalError(fmt::format("{}: a kernel wrote beside its {} bytes, at offset {}", tag_,
                                     bytes_, at - static_cast<std::int64_t>(offset_)));
  }
  return OkStatus();
}

StatusOr<DeviceOperands> DeviceOperands::Reserve(const OperandSet& operands, Allocator& allocator,
                                                 cudaStream_t stream, const Placement& placement) {
  DeviceOperands result;
  for (const Operand& operand : operands.operands()) {
    const std::uint64_t shift = placement.misaligned ? DTypeBits(operand.dtype) / 8 : 0;
    DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TensorBytes(operand.dtype, operand.shape));
    DM_ASSIGN_OR_RETURN(GuardedBuffer memory,
                        GuardedBuffer::Create(allocator, operand.name, bytes, placement.guard_bytes,
                                              shift, stream));
    result.entries_.push_back(
        {operand.name, operand.dtype, operand.role, operand.shape, std::move(memory)});
  }
  return result;
}

StatusOr<DeviceOperands> DeviceOperands::Upload(const OperandSet& operands, Allocator& allocator,
                                                cudaStream_t stream, const Placement& placement) {
  DM_ASSIGN_OR_RETURN(DeviceOperands result, Reserve(operands, allocator, stream, placement));
  for (const Operand& operand : operands.operands()) {
    DM_RETURN_IF_ERROR(CopyToDevice(result.Address(operand.name), operand.bytes, stream));
  }
  // The caller may change or drop its operands now.
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  return result;
}

DeviceAddress DeviceOperands::Address(std::string_view name) const {
  const Entry* const found = Find(name);
  DM_CHECK(found != nullptr);
  return found->memory.address();
}

std::uint64_t DeviceOperands::Bytes(std::string_view name) const {
  const Entry* const found = Find(name);
  DM_CHECK(found != nullptr);
  return found->memory.bytes();
}

const DeviceOperands::Entry* DeviceOperands::Find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

StatusOr<std::vector<std::byte>> DeviceOperands::Download(std::string_view name,
                                                          cudaStream_t stream) const {
  const Entry* const found = Find(name);
  DM_CHECK(found != nullptr);
  return ReadAll(found->memory.address(), found->memory.bytes(), stream);
}

StatusOr<OperandValues> DeviceOperands::Outputs(cudaStream_t stream) const {
  OperandValues values;
  for (const Entry& entry : entries_) {
    if (entry.role == OperandRole::kInput || entry.memory.bytes() == 0) continue;
    DM_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, Download(entry.name, stream));
    DM_ASSIGN_OR_RETURN(values[entry.name], ToDoubles({entry.dtype, entry.shape, bytes}));
  }
  return values;
}

Status DeviceOperands::CheckUntouched(const OperandSet& uploaded, cudaStream_t stream) const {
  for (const Entry& entry : entries_) {
    DM_RETURN_IF_ERROR(entry.memory.CheckGuards(stream));
    if (entry.role != OperandRole::kInput) continue;
    DM_ASSIGN_OR_RETURN(const std::vector<std::byte> now, Download(entry.name, stream));
    const std::vector<std::byte>& before = uploaded.Get(entry.name).bytes;
    const auto differs = std::mismatch(now.begin(), now.end(), before.begin(), before.end());
    if (differs.first != now.end()) {
      return InternalError(fmt::format("{}: a kernel changed byte {} of an operand that it reads",
                                       entry.name, differs.first - now.begin()));
    }
  }
  return OkStatus();
}

}  // namespace draftmark::kernels
