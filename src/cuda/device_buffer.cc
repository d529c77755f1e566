#include "src/cuda/device_buffer.h"

#include "src/base/check.h"
#include "src/cuda/cuda_status.h"

namespace draftmark {

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  Release();
  allocator_ = std::exchange(other.allocator_, nullptr);
  address_ = std::exchange(other.address_, DeviceAddress{});
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

StatusOr<DeviceBuffer> DeviceBuffer::Create(Allocator& allocator,
                                            const AllocationRequest& request) {
  DeviceBuffer buffer;
  if (request.bytes == 0) return buffer;
  DM_ASSIGN_OR_RETURN(buffer.address_, allocator.Allocate(request));
  buffer.allocator_ = &allocator;
  buffer.bytes_ = request.bytes;
  return buffer;
}

void DeviceBuffer::Release() {
  if (allocator_ == nullptr) return;
  // Free waits for the device, and so returns what a kernel did wrong; whoever waits for the stream
  // hears of it too. The memory of a broken context is lost with the context.
  (void)allocator_->Free(address_);
  allocator_ = nullptr;
}

Status CopyToDevice(DeviceAddress target, std::span<const std::byte> source, cudaStream_t stream) {
  if (source.empty()) return OkStatus();
  return CudaStatus(
      cudaMemcpyAsync(target.value, source.data(), source.size(), cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync to the device");
}

Status CopyToHost(std::span<std::byte> target, DeviceAddress source, cudaStream_t stream) {
  if (target.empty()) return OkStatus();
  return CudaStatus(
      cudaMemcpyAsync(target.data(), source.value, target.size(), cudaMemcpyDeviceToHost, stream),
      "cudaMemcpyAsync to the host");
}

Status CopyOnDevice(DeviceAddress target, DeviceAddress source, std::uint64_t bytes,
                    cudaStream_t stream) {
  if (bytes == 0) return OkStatus();
  return CudaStatus(
      cudaMemcpyAsync(target.value, source.value, bytes, cudaMemcpyDeviceToDevice, stream),
      "cudaMemcpyAsync on the device");
}

}  // namespace draftmark
