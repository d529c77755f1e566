#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/cuda_event_source.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"
#include "src/scratch/checking_allocator.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Needs no device: such requests are refused before CUDA is asked.
TEST(CudaAllocatorTest, RequestsAreCheckedFirst) {
  CudaAllocator allocator;
  EXPECT_THAT(allocator.Allocate({.bytes = 0, .tag = "logits"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("logits")));
  EXPECT_THAT(allocator.Allocate({.bytes = 8, .alignment = 512, .tag = "logits"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 256, found 512")));
  EXPECT_THAT(allocator.Free({}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
  int local = 0;
  EXPECT_THAT(allocator.Free({&local}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
  EXPECT_THAT(allocator.SetBytes({&local}, 4, 0, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
  std::array<std::byte, 4> bytes{};
  EXPECT_THAT(allocator.GetBytes({&local}, bytes, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
  EXPECT_THAT(allocator.PutBytes({&local}, bytes, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
}

class CudaMemoryTest : public GpuTest {
 protected:
  CudaAllocator allocator_;
};

TEST_F(CudaMemoryTest, BytesGoThereAndBack) {
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  DM_ASSERT_OK_AND_ASSIGN(const DeviceBuffer first,
                          DeviceBuffer::Create(allocator_, {.bytes = 1000, .tag = "first"}));
  DM_ASSERT_OK_AND_ASSIGN(const DeviceBuffer second,
                          DeviceBuffer::Create(allocator_, {.bytes = 1000, .tag = "second"}));
  EXPECT_EQ(first.address().bits() % kDeviceAlignment, 0u);
  EXPECT_EQ(allocator_.live_count(), 2u);
  std::vector<std::byte> sent(1000), received(1000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7);
  EXPECT_THAT(CopyToDevice(first.address(), sent, stream.get()), IsOk());
  EXPECT_THAT(allocator_.SetBytes({first.As<std::byte>() + 10}, 5, 0xFF, HandleOf(stream.get())),
              IsOk());
  EXPECT_THAT(CopyOnDevice(second.address(), first.address(), 1000, stream.get()), IsOk());
  EXPECT_THAT(CopyToHost(received, second.address(), stream.get()), IsOk());
  EXPECT_THAT(stream.Synchronize(), IsOk());
  for (std::size_t i = 10; i < 15; ++i) sent[i] = std::byte{0xFF};
  EXPECT_EQ(received, sent);
}

TEST_F(CudaMemoryTest, RangesOutsideAreRefusedAndMemoryIsReturned) {
  {
    DM_ASSERT_OK_AND_ASSIGN(DeviceBuffer buffer,
                            DeviceBuffer::Create(allocator_, {.bytes = 64, .tag = "buffer"}));
    EXPECT_THAT(allocator_.SetBytes(buffer.address(), 65, 0, {}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
    EXPECT_THAT(allocator_.SetBytes({buffer.As<std::byte>() + 60}, 5, 0, {}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
    const DeviceBuffer moved = std::move(buffer);
    EXPECT_EQ(allocator_.live_count(), 1u);
  }
  EXPECT_EQ(allocator_.live_count(), 0u);
}

TEST_F(CudaMemoryTest, TheAllocatorCopiesBothKindsAndWaits) {
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  const StreamHandle handle = HandleOf(stream.get());
  const std::size_t bytes = std::size_t{16} << 20;
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHostPinned}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const DeviceBuffer buffer,
        DeviceBuffer::Create(allocator_, {.bytes = bytes, .kind = kind, .tag = "buffer"}));
    DM_ASSERT_OK_AND_ASSIGN(const DeviceBuffer source,
                            DeviceBuffer::Create(allocator_, {.bytes = bytes, .tag = "source"}));
    std::vector<std::byte> sent(bytes, std::byte{0x21});
    ASSERT_THAT(allocator_.PutBytes(source.address(), sent, handle), IsOk());
    std::fill(sent.begin(), sent.end(), std::byte{0});  // may be reused at once
    // Enqueued before the read, so the read must see it, also in memory that the host could read
    // too early.
    ASSERT_THAT(allocator_.SetBytes(source.address(), 8, 0x43, handle), IsOk());
    ASSERT_THAT(CudaStatus(cudaMemcpyAsync(buffer.address().value, source.address().value, bytes,
                                           cudaMemcpyDefault, stream.get()),
                           "cudaMemcpyAsync"),
                IsOk());
    std::vector<std::byte> received(bytes - 5);
    ASSERT_THAT(allocator_.GetBytes({buffer.As<std::byte>() + 5}, received, handle), IsOk());
    std::vector<std::byte> expected(bytes - 5, std::byte{0x21});
    std::fill_n(expected.begin(), 3, std::byte{0x43});
    EXPECT_TRUE(received == expected) << MemoryKindName(kind);
    EXPECT_THAT(allocator_.GetBytes({buffer.As<std::byte>() + 6}, received, handle),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
    EXPECT_THAT(allocator_.PutBytes({buffer.As<std::byte>() + 6}, received, handle),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no live allocation")));
  }
}

TEST_F(CudaMemoryTest, RedZonesOnTheDeviceShowWhoWritesOutside) {
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  const StreamHandle handle = HandleOf(stream.get());
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHostPinned}) {
    for (const std::int64_t offset : {-512, -1, 1001, 1512}) {
      CheckingAllocator checking(allocator_,
                                 {.zone_bytes = 512, .wait_for_device = SynchronizeDevice});
      const StatusOr<DeviceAddress> buffer =
          checking.Allocate({.bytes = 1001, .kind = kind, .tag = "k_buf"});
      ASSERT_THAT(buffer, IsOk());
      EXPECT_EQ(buffer->bits() % kDeviceAlignment, 0u);
      std::vector<std::byte> contents(1001);
      EXPECT_THAT(checking.GetBytes(*buffer, contents, handle), IsOk());
      EXPECT_THAT(contents, Each(std::byte{0xFF}));
      EXPECT_THAT(
          checking.Repoison([](std::string_view) { return true; }, Poison::kRandom, 1, handle),
          IsOk());
      EXPECT_THAT(checking.SetBytes(*buffer, 1001, 0, handle), IsOk());
      EXPECT_THAT(checking.Check(handle), IsOk());
      // To the allocator inside a red zone is memory as any other.
      const DeviceAddress outside{static_cast<std::byte*>(buffer->value) + offset};
      ASSERT_THAT(allocator_.SetBytes(outside, 1, 0x5A, handle), IsOk());
      const std::string place = fmt::format("k_buf: red zone {} is damaged at offset {} ",
                                            offset < 0 ? "before" : "behind", offset);
      EXPECT_THAT(checking.Check(handle), StatusIs(StatusCode::kInternal, HasSubstr(place)));
      EXPECT_THAT(checking.Free(*buffer), StatusIs(StatusCode::kDataLoss, HasSubstr(place)));
      EXPECT_EQ(allocator_.live_count(), 0u);
    }
  }
}

TEST_F(CudaMemoryTest, PinnedMemoryIsReadByTheHost) {
  DM_ASSERT_OK_AND_ASSIGN(
      const DeviceBuffer pinned,
      DeviceBuffer::Create(allocator_,
                           {.bytes = 16, .kind = MemoryKind::kHostPinned, .tag = "tokens"}));
  EXPECT_THAT(allocator_.SetBytes(pinned.address(), 16, 0x5A, {}), IsOk());
  EXPECT_EQ(pinned.As<unsigned char>()[15], 0x5A);
}

TEST_F(CudaMemoryTest, ExhaustionNamesTagAndBytes) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(device().memory_bytes) * 2;
  EXPECT_THAT(allocator_.Allocate({.bytes = bytes, .tag = "k_cache"}),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("k_cache"), HasSubstr(std::to_string(bytes)))));
  // The failure is gone: the next call works.
  EXPECT_THAT(DeviceBuffer::Create(allocator_, {.bytes = 64, .tag = "next"}), IsOk());
}

TEST_F(CudaMemoryTest, EventsMeasureTime) {
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  DM_ASSERT_OK_AND_ASSIGN(CudaEvent start, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSERT_OK_AND_ASSIGN(CudaEvent stop, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSERT_OK_AND_ASSIGN(
      const DeviceBuffer buffer,
      DeviceBuffer::Create(allocator_, {.bytes = std::uint64_t{64} << 20, .tag = "buffer"}));
  EXPECT_THAT(start.Record(stream.get()), IsOk());
  EXPECT_THAT(allocator_.SetBytes(buffer.address(), buffer.bytes(), 1, HandleOf(stream.get())),
              IsOk());
  EXPECT_THAT(stop.Record(stream.get()), IsOk());
  EXPECT_THAT(stop.Wait(), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const double milliseconds, stop.MillisecondsSince(start));
  EXPECT_GT(milliseconds, 0);
  EXPECT_LT(milliseconds, 1000);
}

// Needs no device.
TEST(CudaEventSourceTest, HandlesMustBeAlive) {
  CudaEventSource events;
  EXPECT_THAT(events.Record(0, {}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("alive")));
  EXPECT_THAT(events.Wait(17), StatusIs(StatusCode::kInvalidArgument, HasSubstr("0x11")));
  EXPECT_THAT(events.Destroy(17), StatusIs(StatusCode::kInvalidArgument, HasSubstr("alive")));
}

TEST_F(CudaMemoryTest, TheHostReadsPinnedMemoryBehindAnEvent) {
  DM_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Create());
  const std::uint64_t bytes = std::uint64_t{16} << 20;
  DM_ASSERT_OK_AND_ASSIGN(const DeviceBuffer source,
                          DeviceBuffer::Create(allocator_, {.bytes = bytes, .tag = "source"}));
  DM_ASSERT_OK_AND_ASSIGN(
      const DeviceBuffer landing,
      DeviceBuffer::Create(allocator_,
                           {.bytes = bytes, .kind = MemoryKind::kHostPinned, .tag = "landing"}));
  CudaEventSource events;
  DM_ASSERT_OK_AND_ASSIGN(const std::uint64_t event, events.Create());
  EXPECT_NE(event, 0u);
  EXPECT_THAT(events.Wait(event), IsOk());  // never recorded: at once
  const StreamHandle handle = HandleOf(stream.get());
  ASSERT_THAT(allocator_.SetBytes(source.address(), bytes, 0x3C, handle), IsOk());
  ASSERT_THAT(CopyToHost({landing.As<std::byte>(), bytes}, source.address(), stream.get()), IsOk());
  ASSERT_THAT(events.Record(event, handle), IsOk());
  ASSERT_THAT(events.Wait(event), IsOk());
  EXPECT_EQ(landing.As<std::byte>()[bytes - 1], std::byte{0x3C});
  EXPECT_THAT(events.Destroy(event), IsOk());
  EXPECT_EQ(events.live_count(), 0u);
  EXPECT_THAT(events.Wait(event), StatusIs(StatusCode::kInvalidArgument, HasSubstr("alive")));
}

}  // namespace
}  // namespace draftmark
