// DeviceTest: the base class of a kernel's own tests: a stream, and vectors that go to the GPU and
// come back. Skipped without a GPU (src/cuda/gpu_test.h).
#ifndef DRAFTMARK_KERNELS_TESTING_DEVICE_TEST_H_
#define DRAFTMARK_KERNELS_TESTING_DEVICE_TEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/check.h"
#include "src/base/counter_hash.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

class DeviceTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    stream_.emplace(CudaStream::Create().value());
  }

  // About uniform in [-scale, scale), the same for the same name.
  static std::vector<BFloat16> Random(std::string_view name, std::int64_t count, double scale) {
    std::vector<BFloat16> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = BFloat16::FromDouble(scale * (2 * UniformAt(SeedOf(name), i) - 1));
    }
    return values;
  }
  // Poisoned with 0xFF.
  DeviceBuffer Bytes(std::uint64_t bytes) {
    DeviceBuffer buffer =
        DeviceBuffer::Create(allocator_, {.bytes = bytes, .tag = "operand"}).value();
    Set(buffer, 0xFF);
    return buffer;
  }
  void Set(const DeviceBuffer& buffer, std::uint8_t value) {
    DM_CHECK(allocator_.SetBytes(buffer.address(), buffer.bytes(), value, HandleOf(stream())).ok());
  }
  template <typename T>
  DeviceBuffer Upload(const std::vector<T>& values) {
    DeviceBuffer buffer = Bytes(values.size() * sizeof(T));
    Write(buffer, values);
    return buffer;
  }
  template <typename T>
  void Write(const DeviceBuffer& buffer, const std::vector<T>& values) {
    DM_CHECK(CopyToDevice(buffer.address(), std::as_bytes(std::span(values)), stream()).ok());
    DM_CHECK(stream_->Synchronize().ok());
  }
  // Waits for the stream.
  template <typename T>
  std::vector<T> Read(const DeviceBuffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    DM_CHECK(
        CopyToHost(std::as_writable_bytes(std::span(values)), buffer.address(), stream()).ok());
    DM_CHECK(stream_->Synchronize().ok());
    return values;
  }
  cudaStream_t stream() const { return stream_->get(); }

 private:
  CudaAllocator allocator_;
  std::optional<CudaStream> stream_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_TESTING_DEVICE_TEST_H_
