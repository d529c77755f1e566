// The host allocator, the ledger and the fault-injecting wrapper, alone and stacked.
#include "src/scratch/allocator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/scratch/fault_injection.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"
#include "src/scratch/poison.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::uint8_t* Bytes(DeviceAddress address) {
  return static_cast<const std::uint8_t*>(address.value);
}

TEST(HostAllocatorTest, GivesAlignedMemoryAndTakesItBackOnce) {
  HostAllocator host;
  for (const std::uint64_t alignment : {1u, 16u, 256u, 4096u}) {
    DM_ASSERT_OK_AND_ASSIGN(const DeviceAddress address,
                            host.Allocate({.bytes = 3, .alignment = alignment, .tag = "t"}));
    EXPECT_EQ(address.bits() % alignment, 0u);
    EXPECT_EQ(address.bits() % kDeviceAlignment, 0u);
    EXPECT_THAT(host.Free(address), IsOk());
    EXPECT_THAT(host.Free(address), StatusIs(StatusCode::kInvalidArgument, HasSubstr("twice")));
  }
  EXPECT_THAT(host.Free(DeviceAddress()), StatusIs(StatusCode::kInvalidArgument, HasSubstr("0x0")));
  EXPECT_EQ(host.live_count(), 0u);
}

TEST(HostAllocatorTest, RefusesWhatNoAllocatorMayTake) {
  HostAllocator host;
  EXPECT_THAT(host.Allocate({.bytes = 0, .tag = "logits"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("logits: expected a size above 0")));
  for (const std::uint64_t alignment : {0u, 3u, 48u}) {
    EXPECT_THAT(host.Allocate({.bytes = 8, .alignment = alignment, .tag = "logits"}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("power of two")));
  }
  EXPECT_THAT(host.Allocate({.bytes = 8}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("without a tag")));
  EXPECT_THAT(host.Allocate({.bytes = std::uint64_t{1} << 62, .tag = "logits"}),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("logits"), HasSubstr("4611686018427387904"))));
}

TEST(HostAllocatorTest, PoisonFillsFreshMemory) {
  HostAllocator ones({.poison = Poison::kOnes});
  HostAllocator zeros({.poison = Poison::kZeros});
  HostAllocator random({.poison = Poison::kRandom, .poison_seed = 1});
  HostAllocator other({.poison = Poison::kRandom, .poison_seed = 2});
  const AllocationRequest request{.bytes = 1000, .tag = "t"};
  const DeviceAddress a = ones.Allocate(request).value();
  const DeviceAddress b = zeros.Allocate(request).value();
  const DeviceAddress c = random.Allocate(request).value();
  const DeviceAddress d = other.Allocate(request).value();
  int equal = 0;
  std::vector<int> seen(256);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(Bytes(a)[i], 0xFF);
    EXPECT_EQ(Bytes(b)[i], 0x00);
    equal += Bytes(c)[i] == Bytes(d)[i];
    seen[Bytes(c)[i]] = 1;
  }
  EXPECT_LT(equal, 30);  // 4 expected by chance
  EXPECT_GT(std::count(seen.begin(), seen.end(), 1), 200);
}

TEST(HostAllocatorTest, FillStaysInsideItsBlock) {
  HostAllocator host({.poison = Poison::kOnes});
  const DeviceAddress a = host.Allocate({.bytes = 100, .tag = "t"}).value();
  EXPECT_THAT(host.SetBytes(a, 50, 0, {}), IsOk());
  EXPECT_EQ(Bytes(a)[49], 0);
  EXPECT_EQ(Bytes(a)[50], 0xFF);
  EXPECT_THAT(host.SetBytes(a, 101, 0, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("101")));
  EXPECT_THAT(host.SetBytes({}, 1, 0, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("0x0")));
}

TEST(HostAllocatorTest, BytesGoThereAndBackInsideTheirBlock) {
  HostAllocator host({.poison = Poison::kZeros});
  Ledger ledger;
  LedgerAllocator allocator(host, ledger);
  const DeviceAddress a = allocator.Allocate({.bytes = 10, .tag = "t"}).value();
  const DeviceAddress middle{static_cast<std::byte*>(a.value) + 4};
  const std::vector<std::byte> sent = {std::byte{7}, std::byte{8}, std::byte{9}};
  EXPECT_THAT(allocator.PutBytes(middle, sent, {}), IsOk());
  std::vector<std::byte> received(10);
  EXPECT_THAT(allocator.GetBytes(a, received, {}), IsOk());
  std::vector<std::byte> expected(10);
  std::copy(sent.begin(), sent.end(), expected.begin() + 4);
  EXPECT_EQ(received, expected);
  EXPECT_THAT(allocator.PutBytes(middle, received, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("write of 10 bytes")));
  EXPECT_THAT(allocator.GetBytes(middle, received, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("read of 10 bytes")));
  EXPECT_THAT(allocator.GetBytes({}, received, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("0x0")));
}

TEST(FaultInjectingAllocatorTest, FailsTheCallsThatItIsTold) {
  HostAllocator host;
  FaultInjectingAllocator allocator(host, {.fail_fill = 1, .fail_get = 2, .fail_put = 1});
  const DeviceAddress a = allocator.Allocate({.bytes = 1, .tag = "t"}).value();
  std::vector<std::byte> byte(1);
  const auto injected = [](const std::string& part) {
    return StatusIs(StatusCode::kInternal, HasSubstr("injected failure of " + part));
  };
  EXPECT_THAT(allocator.SetBytes(a, 1, 0, {}), injected("fill 1"));
  EXPECT_THAT(allocator.SetBytes(a, 1, 5, {}), IsOk());
  EXPECT_THAT(allocator.PutBytes(a, byte, {}), injected("write 1"));
  EXPECT_THAT(allocator.GetBytes(a, byte, {}), IsOk());
  EXPECT_EQ(byte[0], std::byte{5});  // the failed write wrote nothing
  EXPECT_THAT(allocator.PutBytes(a, byte, {}), IsOk());
  EXPECT_THAT(allocator.GetBytes(a, byte, {}), injected("read 2"));
}

TEST(PoisonTest, PiecesGiveTheSameBytesAsTheWhole) {
  std::vector<std::byte> whole(100), pieces(100);
  FillPoison(whole, Poison::kRandom, 4);
  std::size_t first = 0;
  for (const std::size_t bytes : {1u, 7u, 8u, 3u, 0u, 50u, 31u}) {
    FillPoison(std::span(pieces).subspan(first, bytes), Poison::kRandom, 4, first);
    first += bytes;
  }
  ASSERT_EQ(first, whole.size());
  EXPECT_EQ(pieces, whole);
}

TEST(LedgerTest, CountsBytesBlocksAndPeaksPerKindAndTag) {
  HostAllocator host;
  Ledger ledger;
  LedgerAllocator allocator(host, ledger);
  const DeviceAddress a = allocator.Allocate({.bytes = 100, .tag = "a"}).value();
  const DeviceAddress b = allocator.Allocate({.bytes = 30, .tag = "b"}).value();
  EXPECT_THAT(allocator.Free(a), IsOk());
  const DeviceAddress c =
      allocator.Allocate({.bytes = 7, .kind = MemoryKind::kHostPinned, .tag = "a"}).value();
  EXPECT_EQ(ledger.Total(), (LedgerAccount{37, 2, 130, 3}));
  EXPECT_EQ(ledger.Total(MemoryKind::kDevice), (LedgerAccount{30, 1, 130, 2}));
  EXPECT_EQ(ledger.Total(MemoryKind::kHostPinned), (LedgerAccount{7, 1, 7, 1}));
  EXPECT_EQ(ledger.Of("a"), (LedgerAccount{7, 1, 100, 2}));
  EXPECT_EQ(ledger.Of("b"), (LedgerAccount{30, 1, 30, 1}));
  EXPECT_EQ(ledger.Of("c"), LedgerAccount());
  ASSERT_EQ(ledger.Lines().size(), 3u);
  EXPECT_EQ(ledger.Lines()[2].kind, MemoryKind::kHostPinned);
  EXPECT_THAT(ledger.ToString(), AllOf(HasSubstr("host pinned"), HasSubstr("100")));
  EXPECT_THAT(allocator.Free(b), IsOk());
  EXPECT_THAT(allocator.Free(c), IsOk());
  EXPECT_EQ(ledger.Total().live_bytes, 0u);
  EXPECT_EQ(ledger.Total().live_count, 0u);
}

TEST(LedgerTest, FailuresChangeNothing) {
  HostAllocator host;
  FaultInjectingAllocator faults(host, {.fail_allocation = 1, .fail_frees = {1}});
  Ledger ledger;
  LedgerAllocator allocator(faults, ledger);
  EXPECT_THAT(allocator.Allocate({.bytes = 8, .tag = "a"}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("a: injected")));
  EXPECT_EQ(ledger.Total(), LedgerAccount());
  const DeviceAddress a = allocator.Allocate({.bytes = 8, .tag = "a"}).value();
  EXPECT_THAT(allocator.Free(a), StatusIs(StatusCode::kInternal, HasSubstr("free 1")));
  EXPECT_EQ(ledger.Total().live_bytes, 8u);  // it is still there
  EXPECT_THAT(allocator.Free(a), IsOk());
  EXPECT_EQ(ledger.Total().live_bytes, 0u);
}

TEST(LedgerTest, IsRightWithManyThreads) {
  HostAllocator host;
  Ledger ledger;
  LedgerAllocator allocator(host, ledger);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator] {
      for (int i = 0; i < 200; ++i) {
        const DeviceAddress a = allocator.Allocate({.bytes = 64, .tag = "a"}).value();
        DM_CHECK(allocator.Free(a).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.Total().live_bytes, 0u);
  EXPECT_EQ(ledger.Total().total_count, 800u);
  EXPECT_LE(ledger.Total().peak_bytes, 256u);
}

}  // namespace
}  // namespace draftmark
