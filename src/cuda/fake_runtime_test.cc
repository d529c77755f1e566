#include "src/cuda/fake_runtime.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <thread>

#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/cuda_event_source.h"
#include "src/cuda/device.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/graph.h"
#include "src/cuda/stream.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FakeRuntimeTest, IsADevice) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<DeviceInfo> devices, ListDevices());
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "fake");
  EXPECT_EQ(devices[0].compute_major, 9);
}

TEST(FakeRuntimeTest, MemoryIsCopiedAndCounted) {
  const FakeObjects before = FakeObjectsAlive();
  {
    CudaAllocator allocator;
    DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
    DM_ASSERT_OK_AND_ASSIGN(const DeviceBuffer buffer,
                            DeviceBuffer::Create(allocator, {.bytes = 10, .tag = "buffer"}));
    DM_ASSERT_OK_AND_ASSIGN(
        const DeviceBuffer pinned,
        DeviceBuffer::Create(allocator,
                             {.bytes = 10, .kind = MemoryKind::kHostPinned, .tag = "pinned"}));
    EXPECT_EQ(FakeObjectsAlive().device_blocks, before.device_blocks + 1);
    EXPECT_EQ(FakeObjectsAlive().pinned_blocks, before.pinned_blocks + 1);
    EXPECT_EQ(FakeObjectsAlive().streams, before.streams + 1);
    EXPECT_THAT(allocator.SetBytes(buffer.address(), 10, 0x5A, HandleOf(stream.get())), IsOk());
    EXPECT_THAT(CopyToHost({pinned.As<std::byte>(), 10}, buffer.address(), stream.get()), IsOk());
    EXPECT_EQ(pinned.As<std::byte>()[9], std::byte{0x5A});
  }
  EXPECT_EQ(FakeObjectsAlive(), before);
}

TEST(FakeRuntimeTest, NoBytesMayBeNowhere) {
  EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(nullptr, 0, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DAsync(nullptr, 8, nullptr, 8, 0, 2, cudaMemcpyHostToDevice, nullptr),
            cudaSuccess);
}

TEST(FakeRuntimeDeathTest, WhatIsWrongEndsTheProcess) {
  CudaAllocator allocator;
  DM_ASSERT_OK_AND_ASSIGN(const DeviceBuffer buffer,
                          DeviceBuffer::Create(allocator, {.bytes = 10, .tag = "buffer"}));
  std::byte bytes[11] = {};
  EXPECT_DEATH((void)CopyToDevice(buffer.address(), bytes, nullptr), "");
  EXPECT_DEATH((void)cudaFree(bytes), "");
  EXPECT_DEATH((void)cudaFreeHost(buffer.address().value), "");
}

TEST(FakeRuntimeTest, TheCallThatIsToldFailsAndNoOther) {
  CudaAllocator allocator;
  const auto allocate = [&] { return allocator.Allocate({.bytes = 4, .tag = "k_buf"}).status(); };
  FailFakeCall(2);
  EXPECT_THAT(allocate(), IsOk());
  EXPECT_THAT(allocate(), StatusIs(StatusCode::kResourceExhausted,
                                   AllOf(HasSubstr("k_buf: 4 bytes"), HasSubstr("cudaMalloc"))));
  EXPECT_STREQ(FailedFakeCall(), "cudaMalloc");
  EXPECT_THAT(allocate(), IsOk());
  EXPECT_TRUE(StopFailingFakeCalls());
  FailFakeCall(2);
  EXPECT_THAT(allocate(), IsOk());
  EXPECT_FALSE(StopFailingFakeCalls());
  // The error is as CUDA's: it stays until somebody asks.
  FailFakeCall(1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(StopFailingFakeCalls());
}

TEST(FakeRuntimeTest, CapturesTakeNeitherMemoryNorWaits) {
  const FakeObjects before = FakeObjectsAlive();
  {
    CudaAllocator allocator;
    DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
    const auto launch = [&] {
      cudaLaunchConfig_t config = {};
      config.stream = stream.get();
      return cudaLaunchKernelExC(&config, nullptr, nullptr) == cudaSuccess
                 ? OkStatus()
                 : InternalError("launch");
    };
    const std::int64_t kernels = FakeKernelsLaunched();
    DM_ASSERT_OK_AND_ASSIGN(const CudaGraph graph, CudaGraph::Capture(stream.get(), launch));
    EXPECT_EQ(graph.kernels(), 1u);
    EXPECT_EQ(FakeKernelsLaunched(), kernels);
    EXPECT_THAT(graph.Launch(stream.get()), IsOk());
    EXPECT_EQ(FakeKernelsLaunched(), kernels + 1);
    EXPECT_THAT(CudaGraph::Capture(stream.get(), [&] { return stream.Synchronize(); }),
                StatusIs(StatusCode::kInternal, HasSubstr("StreamCaptureUnsupported")));
    EXPECT_THAT(
        CudaGraph::Capture(stream.get(),
                           [&] { return allocator.Allocate({.bytes = 4, .tag = "x"}).status(); }),
        StatusIs(StatusCode::kInternal, HasSubstr("StreamCaptureUnsupported")));
    // Another thread opens a session, say.
    const auto allocate_elsewhere = [&] {
      Status status;
      std::jthread([&] {
        status = DeviceBuffer::Create(allocator, {.bytes = 4, .tag = "x"}).status();
      }).join();
      return status;
    };
    EXPECT_THAT(CudaGraph::Capture(stream.get(), allocate_elsewhere), IsOk());
    EXPECT_THAT(launch(), IsOk());
    EXPECT_EQ(FakeKernelsLaunched(), kernels + 2) << "the stream is still capturing";
  }
  EXPECT_EQ(FakeObjectsAlive(), before);
}

}  // namespace
}  // namespace draftmark
