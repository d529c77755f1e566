// OperandArena: places the copies of a case's operands in one piece of device memory, so that all
// memory that a launch writes lies together, copy behind copy, and all that it only reads does.
//
//   const OperandLayout layout = LayOut(operands, guard_bytes);
//   OperandArena arena(operands, layout, read_memory, written_memory);
//   for each copy: arena.BeginCopy(i), then DeviceOperands::Reserve(operands, arena, ...)
//
// Memory is not touched: SetBytes does nothing, since whoever made the memory poisoned it. GetBytes
// and PutBytes are UNIMPLEMENTED. One thread at a time.
#ifndef DRAFTMARK_BENCHMARKS_REPLAY_OPERAND_ARENA_H_
#define DRAFTMARK_BENCHMARKS_REPLAY_OPERAND_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "src/base/status.h"
#include "src/operations/operation.h"
#include "src/scratch/allocator.h"

namespace draftmark {

// Bytes of one copy, guards included, multiples of kDeviceAlignment.
struct OperandLayout {
  std::uint64_t read = 0;     // operands that are inputs alone
  std::uint64_t written = 0;  // outputs, and what is read and written
};
// Those of TensorBytes.
StatusOr<OperandLayout> LayOut(const OperandSet& operands, std::uint64_t guard_bytes);

class OperandArena final : public Allocator {
 public:
  OperandArena(const OperandSet& operands, const OperandLayout& layout, std::byte* read,
               std::byte* written);

  // The next operands are those of copy `index`.
  void BeginCopy(std::uint64_t index);

  // RESOURCE_EXHAUSTED if a copy asks for more than the layout has.
  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override;
  Status Free(DeviceAddress) override { return OkStatus(); }
  Status SetBytes(DeviceAddress, std::uint64_t, std::uint8_t, StreamHandle) override {
    return OkStatus();
  }
  Status GetBytes(DeviceAddress, std::span<std::byte>, StreamHandle) override;
  Status PutBytes(DeviceAddress, std::span<const std::byte>, StreamHandle) override;

 private:
  std::set<std::string, std::less<>> written_names_;
  const OperandLayout layout_;
  std::byte* const read_;
  std::byte* const written_;
  std::uint64_t copy_ = 0;
  OperandLayout used_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPLAY_OPERAND_ARENA_H_
