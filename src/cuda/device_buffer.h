// DeviceBuffer: memory of an Allocator with one owner, and copies to and from it.
//
//   DM_ASSIGN_OR_RETURN(DeviceBuffer logits,
//                       DeviceBuffer::Create(allocator, {.bytes = 4096, .tag = "logits"}));
//   DM_RETURN_IF_ERROR(CopyToDevice(logits.address(), bytes, stream));
//
// The allocator must outlive the buffer. Movable, not copyable; an empty buffer has a null address.
// Copies are ordered by the stream; a pageable source is staged before the call returns and a
// pageable target is filled only once the stream was waited for. Errors are those of CudaStatus.
// A buffer is one thread's at a time.
#ifndef DRAFTMARK_SRC_CUDA_DEVICE_BUFFER_H_
#define DRAFTMARK_SRC_CUDA_DEVICE_BUFFER_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "src/base/status.h"
#include "src/scratch/allocator.h"

namespace draftmark {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer() { Release(); }

  // A request of 0 bytes gives an empty buffer.
  static StatusOr<DeviceBuffer> Create(Allocator& allocator, const AllocationRequest& request);

  DeviceAddress address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(address_.value);
  }

 private:
  void Release();

  Allocator* allocator_ = nullptr;
  DeviceAddress address_;
  std::uint64_t bytes_ = 0;
};

Status CopyToDevice(DeviceAddress target, std::span<const std::byte> source, cudaStream_t stream);
Status CopyToHost(std::span<std::byte> target, DeviceAddress source, cudaStream_t stream);
Status CopyOnDevice(DeviceAddress target, DeviceAddress source, std::uint64_t bytes,
                    cudaStream_t stream);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_DEVICE_BUFFER_H_
