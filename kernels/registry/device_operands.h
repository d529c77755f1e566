// DeviceOperands: the operands of one case in device memory, each between guard bands.
//
//   DM_ASSIGN_OR_RETURN(const OperandSet operands, MakeOperands(c));
//   DM_ASSIGN_OR_RETURN(DeviceOperands on_device,
//                       DeviceOperands::Upload(operands, allocator, stream, {}));
//   ... launch a kernel on on_device.Get<BFloat16>("x") ...
//   DM_RETURN_IF_ERROR(on_device.CheckUntouched(operands, stream));
//   DM_ASSIGN_OR_RETURN(const OperandValues values, on_device.Outputs(stream));
//
// Guards are NaN in every floating format (src/base/guard_pattern.h): a kernel that reads beside its
// operand shows it in its results, one that writes there is found by CheckUntouched. The allocator must outlive
// the operands. Movable, not copyable; thread-safe while const.
#ifndef DRAFTMARK_KERNELS_REGISTRY_DEVICE_OPERANDS_H_
#define DRAFTMARK_KERNELS_REGISTRY_DEVICE_OPERANDS_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/check.h"
#include "src/base/status.h"
#include "src/cuda/device_buffer.h"
#include "src/operations/operation.h"
#include "src/scratch/allocator.h"
#include "src/tensor/dtype.h"

namespace draftmark::kernels {

// How operands lie in memory.
struct Placement {
  std::uint64_t guard_bytes = 4096;  // on each side; a multiple of 256
  // One element behind the allocator's alignment: no wide access is possible.
  bool misaligned = false;
};

// Device memory between guard bands, itself 0xFF bytes at first.
class GuardedBuffer {
 public:
  // `shift` bytes behind the guard, which ends at a multiple of 256.
  static StatusOr<GuardedBuffer> Create(Allocator& allocator, std::string_view tag,
                                        std::uint64_t bytes, std::uint64_t guard_bytes,
                                        std::uint64_t shift, cudaStream_t stream);

  DeviceAddress address() const;
  std::uint64_t bytes() const { return bytes_; }
  // Waits for the stream. INTERNAL with the first byte outside that changed, as an offset from the
  // start of the memory (negative: before it).
  Status CheckGuards(cudaStream_t stream) const;

 private:
  struct Band {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::array<Band, 2> Bands() const;  // before and behind

  std::string tag_;
  DeviceBuffer buffer_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

class DeviceOperands {
 public:
  static StatusOr<DeviceOperands> Upload(const OperandSet& operands, Allocator& allocator,
                                         cudaStream_t stream, const Placement& placement);

  // The same without the contents: sizes are those of the operands' shapes, and all memory is what
  // GuardedBuffer leaves in it. For benchmarks, which fill copies on the device.
  static StatusOr<DeviceOperands> Reserve(const OperandSet& operands, Allocator& allocator,
                                          cudaStream_t stream, const Placement& placement);

  // Of an operand that the case has: its memory, without the guards.
  DeviceAddress Address(std::string_view name) const;
  std::uint64_t Bytes(std::string_view name) const;

  // Null for an operand that the case does not have. T has the width of its dtype.
  template <typename T>
  T* Get(std::string_view name) const {
    const Entry* const found = Find(name);
    if (found == nullptr) return nullptr;
    DM_CHECK(DTypeBits(found->dtype) == 8 * sizeof(T));
    return static_cast<T*>(found->memory.address().value);
  }

  // All these wait for the stream.
  StatusOr<std::vector<std::byte>> Download(std::string_view name, cudaStream_t stream) const;
  // Every output and in-out operand, as float64.
  StatusOr<OperandValues> Outputs(cudaStream_t stream) const;
  // INTERNAL if a guard band, or an operand that is only read, is not what was uploaded.
  Status CheckUntouched(const OperandSet& uploaded, cudaStream_t stream) const;

 private:
  struct Entry {
    std::string name;
    DType dtype = DType::kBF16;
    OperandRole role = OperandRole::kInput;
    Shape shape;
    GuardedBuffer memory;
  };

  const Entry* Find(std::string_view name) const;

  std::vector<Entry> entries_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_REGISTRY_DEVICE_OPERANDS_H_
