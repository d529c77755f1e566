// Red zones and poison on the host allocator; on a device: src/cuda/memory_test.cc.
#include "src/scratch/checking_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/check.h"
#include "src/base/status_matchers.h"
#include "src/scratch/fault_injection.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::byte* At(DeviceAddress address, std::int64_t offset) {
  return static_cast<std::byte*>(address.value) + offset;
}
std::span<std::byte> Contents(DeviceAddress address, std::size_t bytes) {
  return {At(address, 0), bytes};
}
std::vector<std::byte> Filled(std::size_t bytes, Poison poison, std::uint64_t seed = 0) {
  std::vector<std::byte> result(bytes);
  FillPoison(result, poison, seed);
  return result;
}
bool Equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(CheckingAllocatorTest, KeepsAlignmentTagAndTheBytesOfTheLedgerOutside) {
  HostAllocator host;
  Ledger inside, outside;
  LedgerAllocator enlarged(host, inside);
  CheckingAllocator checking(enlarged, {.zone_bytes = 512});
  LedgerAllocator allocator(checking, outside);
  for (const std::uint64_t alignment : {1u, 16u, 256u, 512u, 4096u}) {
    for (const std::uint64_t bytes : {1u, 3u, 256u, 1000u}) {
      for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHostPinned}) {
        DM_ASSERT_OK_AND_ASSIGN(
            const DeviceAddress address,
            allocator.Allocate(
                {.bytes = bytes, .alignment = alignment, .kind = kind, .tag = "k_buf"}));
        EXPECT_EQ(address.bits() % std::max(alignment, kDeviceAlignment), 0u);
        EXPECT_EQ(outside.Total(kind).live_bytes, bytes);
        EXPECT_EQ(outside.Of("k_buf").live_bytes, bytes);
        EXPECT_EQ(inside.Total(kind).live_bytes,
                  std::max<std::uint64_t>(512, alignment) + bytes + 512);
        EXPECT_EQ(inside.Of("k_buf"), inside.Total());
        EXPECT_THAT(allocator.Free(address), IsOk());
      }
    }
  }
  EXPECT_EQ(inside.Total().live_bytes, 0u);
  EXPECT_EQ(outside.Total().live_bytes, 0u);
}

TEST(CheckingAllocatorTest, CleanProgramsPass) {
  HostAllocator host;
  CheckingAllocator checking(host);
  EXPECT_THAT(checking.Check({}), IsOk());
  const DeviceAddress a = checking.Allocate({.bytes = 1001, .tag = "a"}).value();
  const DeviceAddress b =
      checking.Allocate({.bytes = 7, .kind = MemoryKind::kHostPinned, .tag = "b"}).value();
  std::ranges::fill(Contents(a, 1001), std::byte{1});
  EXPECT_THAT(checking.Check({}), IsOk());
  EXPECT_THAT(checking.SetBytes({At(a, 1)}, 1000, 2, {}), IsOk());
  const std::vector<std::byte> sent(7, std::byte{3});
  EXPECT_THAT(checking.PutBytes(b, sent, {}), IsOk());
  std::vector<std::byte> received(2);
  EXPECT_THAT(checking.GetBytes(a, received, {}), IsOk());
  EXPECT_EQ(received, (std::vector{std::byte{1}, std::byte{2}}));
  EXPECT_EQ(*At(b, 6), std::byte{3});
  EXPECT_THAT(checking.Check({}), IsOk());
  EXPECT_THAT(checking.Free(a), IsOk());
  EXPECT_THAT(checking.Free(b), IsOk());
  EXPECT_THAT(checking.Check({}), IsOk());
  EXPECT_EQ(host.live_count(), 0u);
}

TEST(CheckingAllocatorTest, EveryDamagedByteIsNamed) {
  for (const std::int64_t zone : {256, 1024}) {
    HostAllocator host;
    CheckingAllocator checking(host, {.zone_bytes = static_cast<std::uint64_t>(zone)});
    for (const std::int64_t bytes : {1, 3, 256, 1000}) {
      for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHostPinned}) {
        const DeviceAddress address =
            checking
                .Allocate(
                    {.bytes = static_cast<std::uint64_t>(bytes), .kind = kind, .tag = "v_buf"})
                .value();
        for (std::int64_t i = 0; i < zone; ++i) {
          for (const std::int64_t offset : {-1 - i, bytes + i}) {
            const std::byte good = *At(address, offset);
            const std::byte bad = good ^ std::byte{0x10};
            *At(address, offset) = bad;
            EXPECT_THAT(
                checking.Check({}),
                StatusIs(StatusCode::kInternal,
                         fmt::format("v_buf: red zone {} is damaged at offset {} of a "
                                     "buffer of {} bytes: expected {:#04x}, found {:#04x}",
                                     offset < 0 ? "before" : "behind", offset, bytes,
                                     std::to_integer<int>(good), std::to_integer<int>(bad))));
            *At(address, offset) = good;
          }
        }
        EXPECT_THAT(checking.Check({}), IsOk());
        EXPECT_THAT(checking.Free(address), IsOk());
      }
    }
  }
}

TEST(CheckingAllocatorTest, TheOldestBufferAndTheFirstByteAreNamed) {
  HostAllocator host;
  CheckingAllocator checking(host);
  std::vector<DeviceAddress> buffers;
  buffers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    buffers.push_back(
        checking.Allocate({.bytes = 64, .tag = "buffer" + std::to_string(i)}).value());
  }
  for (int i = 7; i >= 0; --i) {
    for (const std::int64_t offset : {70, 64, -7, -9}) {
      *At(buffers[static_cast<std::size_t>(i)], offset) = {};
      EXPECT_THAT(
          checking.Check({}),
          StatusIs(StatusCode::kInternal,
                   AllOf(StartsWith("buffer" + std::to_string(i) + ": red zone"),
                         HasSubstr("at offset " + std::to_string(offset) + " of a buffer of 64"))));
    }
  }
}

TEST(CheckingAllocatorTest, BytesOfAnotherPlaceAreNoticed) {
  HostAllocator host;
  CheckingAllocator checking(host);
  // 250 bytes: the rear zone begins inside an aligned piece.
  const DeviceAddress a = checking.Allocate({.bytes = 250, .tag = "a"}).value();
  const DeviceAddress b = checking.Allocate({.bytes = 250, .tag = "b"}).value();
  const std::vector<std::byte> front(At(a, -256), At(a, 0));
  const std::vector<std::byte> rear(At(a, 250), At(a, 506));
  const auto damaged = [&] { return checking.Check({}).code() == StatusCode::kInternal; };
  for (std::int64_t shift = 1; shift < 254; ++shift) {
    std::memmove(At(a, 250), At(a, 250 + shift), static_cast<std::size_t>(256 - shift));
    EXPECT_TRUE(damaged()) << shift;
    std::ranges::copy(rear, At(a, 250));
    std::memmove(At(a, -256 + shift), At(a, -256), static_cast<std::size_t>(256 - shift));
    EXPECT_TRUE(damaged()) << shift;
    std::ranges::copy(front, At(a, -256));
  }
  ASSERT_THAT(checking.Check({}), IsOk());
  // A row too many from one buffer to another of the same size: eight elements of BF16.
  std::memcpy(At(a, 250), At(b, 250), 16);
  EXPECT_TRUE(damaged());
  std::ranges::copy(rear, At(a, 250));
  // What programs write by mistake: 0, 1, infinity, NaN of CUDA, poison, each as one BF16.
  for (const std::uint16_t value : {0x0000, 0x3F80, 0x7F80, 0x7FFF, 0xFFFF, 0x7FC0 | 0x8000}) {
    for (std::int64_t offset = 250; offset + 2 <= 506; offset += 2) {
      std::memcpy(At(a, offset), &value, 2);
      EXPECT_TRUE(damaged()) << value << " at " << offset;
      std::ranges::copy(rear, At(a, 250));
    }
  }
  EXPECT_THAT(checking.Check({}), IsOk());
}

template <typename T>
void ExpectNans(DeviceAddress address, std::int64_t first, std::int64_t end) {
  for (std::int64_t offset = first; offset < end; offset += sizeof(T)) {
    T value;
    std::memcpy(&value, At(address, offset), sizeof(T));
    EXPECT_TRUE(std::isnan(value)) << sizeof(T) << " bytes at " << offset;
  }
}

TEST(CheckingAllocatorTest, RedZonesReadAsNan) {
  HostAllocator host;
  CheckingAllocator checking(host);
  for (int i = 0; i < 20; ++i) {
    const DeviceAddress a = checking.Allocate({.bytes = 24, .tag = "a"}).value();
    const DeviceAddress odd = checking.Allocate({.bytes = 21, .tag = "odd"}).value();
    for (const DeviceAddress address : {a, odd}) {
      ExpectNans<float>(address, -256, 0);
      ExpectNans<double>(address, -256, 0);
      ExpectNans<float>(address, 24, 276);
      ExpectNans<double>(address, 24, 272);
      for (const auto& [first, end] : {std::pair{-256, 0}, std::pair{24, 276}}) {
        for (std::int64_t offset = first; offset < end; offset += 2) {
          std::uint16_t bits;
          std::memcpy(&bits, At(address, offset), 2);
          EXPECT_GT(bits & 0x7FFF, 0x7F80);  // BF16, and far above F16's 0x7C00
        }
      }
    }
  }
}

TEST(CheckingAllocatorTest, FreeReportsDamageAndStillFrees) {
  HostAllocator host;
  Ledger ledger;
  CheckingAllocator checking(host);
  LedgerAllocator allocator(checking, ledger);
  const DeviceAddress a = allocator.Allocate({.bytes = 100, .tag = "a"}).value();
  const DeviceAddress b = allocator.Allocate({.bytes = 100, .tag = "b"}).value();
  const DeviceAddress c = allocator.Allocate({.bytes = 100, .tag = "c"}).value();
  *At(a, 100) = {};
  *At(b, -1) = {};
  EXPECT_THAT(allocator.Free(b),
              StatusIs(StatusCode::kDataLoss,
                       StartsWith("found when freed: b: red zone before is damaged at offset -1")));
  EXPECT_THAT(allocator.Free(a), StatusIs(StatusCode::kDataLoss, HasSubstr("a: red zone behind")));
  EXPECT_THAT(allocator.Free(a), StatusIs(StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_EQ(ledger.Total().live_bytes, 100u);
  EXPECT_EQ(host.live_count(), 1u);
  // Whoever threw the status away hears of the first one here, again and again.
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(checking.Check({}),
                StatusIs(StatusCode::kInternal, HasSubstr("found when freed: b: red zone before")));
  }
  EXPECT_THAT(allocator.Free(c), IsOk());
}

TEST(CheckingAllocatorTest, FreshMemoryIsPoisoned) {
  for (const Poison poison : {Poison::kZeros, Poison::kOnes, Poison::kRandom}) {
    HostAllocator host;
    CheckingAllocator checking(host, {.poison = poison, .poison_seed = 3});
    const DeviceAddress a = checking.Allocate({.bytes = 1001, .tag = "a"}).value();
    EXPECT_TRUE(Equal(Contents(a, 1001), Filled(1001, poison, 3)));
    EXPECT_THAT(checking.Check({}), IsOk());
  }
  HostAllocator ones({.poison = Poison::kOnes});
  CheckingAllocator none(ones, {.poison = Poison::kNone});
  const DeviceAddress a = none.Allocate({.bytes = 1001, .tag = "a"}).value();
  EXPECT_TRUE(Equal(Contents(a, 1001), Filled(1001, Poison::kOnes)));
}

TEST(CheckingAllocatorTest, RepoisonFillsWhatIsSelected) {
  HostAllocator host;
  CheckingAllocator checking(host, {.poison = Poison::kZeros});
  constexpr std::size_t kLarge = (std::size_t{5} << 19) + 3;  // two pieces and a half
  const DeviceAddress a = checking.Allocate({.bytes = kLarge, .tag = "a"}).value();
  const DeviceAddress b =
      checking.Allocate({.bytes = 9, .kind = MemoryKind::kHostPinned, .tag = "b"}).value();
  const DeviceAddress pool = checking.Allocate({.bytes = 64, .tag = "kv_pool_k"}).value();
  const auto selected = [](std::string_view tag) { return !tag.starts_with("kv_pool"); };
  for (const Poison poison : {Poison::kOnes, Poison::kRandom, Poison::kZeros, Poison::kRandom}) {
    ASSERT_THAT(checking.Repoison(selected, poison, 8, {}), IsOk());
    EXPECT_TRUE(Equal(Contents(a, kLarge), Filled(kLarge, poison, 8)));
    EXPECT_TRUE(Equal(Contents(b, 9), Filled(9, poison, 8)));
    EXPECT_THAT(Contents(pool, 64), Each(std::byte{0}));
    EXPECT_THAT(checking.Check({}), IsOk());
  }
  ASSERT_THAT(checking.Repoison(selected, Poison::kNone, 8, {}), IsOk());
  EXPECT_TRUE(Equal(Contents(b, 9), Filled(9, Poison::kRandom, 8)));
}

// Takes memory back but keeps it readable, as a pool would.
class PoolAllocator final : public Allocator {
 public:
  explicit PoolAllocator(Allocator& inner) : inner_(inner) {}
  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override {
    return inner_.Allocate(request);
  }
  Status Free(DeviceAddress) override { return OkStatus(); }
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override {
    return inner_.SetBytes(address, bytes, value, stream);
  }
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override {
    return inner_.GetBytes(address, out, stream);
  }
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override {
    return inner_.PutBytes(address, bytes, stream);
  }

 private:
  Allocator& inner_;
};

TEST(CheckingAllocatorTest, FreedMemoryIsPoisonedAndNeighboursAreNot) {
  HostAllocator host;
  PoolAllocator pool(host);
  CheckingAllocator checking(pool, {.poison = Poison::kZeros});
  const DeviceAddress a = checking.Allocate({.bytes = 77, .tag = "a"}).value();
  const DeviceAddress b = checking.Allocate({.bytes = 77, .tag = "b"}).value();
  const std::byte behind = *At(a, 77);
  ASSERT_THAT(checking.Free(a), IsOk());
  EXPECT_THAT(Contents(a, 77), Each(std::byte{0xFF}));
  EXPECT_EQ(*At(a, 77), behind);
  EXPECT_THAT(Contents(b, 77), Each(std::byte{0}));
  EXPECT_THAT(checking.Check({}), IsOk());
}

TEST(CheckingAllocatorTest, CopiesAndFillsMayNotReachARedZone) {
  HostAllocator host;
  CheckingAllocator checking(host);
  const DeviceAddress a = checking.Allocate({.bytes = 100, .tag = "a"}).value();
  std::vector<std::byte> bytes(101);
  const auto refused = [](const std::string& part) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(part));
  };
  EXPECT_THAT(checking.SetBytes(a, 101, 0, {}), refused("a: fill of 101 bytes at offset 0"));
  EXPECT_THAT(checking.GetBytes(a, bytes, {}), refused("a: read of 101 bytes at offset 0"));
  EXPECT_THAT(checking.PutBytes(a, bytes, {}), refused("a: write of 101 bytes at offset 0"));
  EXPECT_THAT(checking.SetBytes({At(a, 101)}, 0, 0, {}), refused("leaves the 100 bytes"));
  EXPECT_THAT(checking.SetBytes({At(a, -1)}, 2, 0, {}), refused("where no buffer is"));
  EXPECT_THAT(checking.SetBytes({At(a, 100)}, 0, 0, {}), IsOk());
  EXPECT_THAT(checking.GetBytes({}, {}, {}), refused("at 0x0"));
  EXPECT_THAT(checking.Free({}), refused("free of 0x0"));
  EXPECT_THAT(checking.Free({At(a, -256)}), refused("not allocated"));  // the inner address
  EXPECT_THAT(checking.Check({}), IsOk());
}

TEST(CheckingAllocatorTest, RefusedRequestsAndFailuresInsideLeaveNothing) {
  const AllocationRequest request{.bytes = 8, .tag = "a"};
  const std::vector<std::pair<FaultPlan, std::string>> plans = {
      {{.fail_allocation = 1}, "a: 8 bytes between two red zones: a: injected failure"},
      {{.fail_fill = 1}, "failure of fill 1"},
      {{.fail_put = 1}, "failure of write 1"},
      {{.fail_put = 2}, "failure of write 2"}};
  for (const auto& [plan, part] : plans) {
    HostAllocator host;
    FaultInjectingAllocator faults(host, plan);
    CheckingAllocator checking(faults);
    const StatusOr<DeviceAddress> failed = checking.Allocate(request);
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.status().message(), AllOf(StartsWith("a: 8 bytes"), HasSubstr(part)));
    EXPECT_EQ(host.live_count(), 0u);
    EXPECT_THAT(checking.Check({}), IsOk());
    EXPECT_THAT(checking.Allocate(request), IsOk());
  }
  HostAllocator host;
  CheckingAllocator checking(host);
  EXPECT_THAT(checking.Allocate({.bytes = 8}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("without a tag")));
  EXPECT_THAT(checking.Allocate({.bytes = ~std::uint64_t{0} - 256, .tag = "logits"}),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("logits: 18446744073709551359 bytes between two red zones")));
}

TEST(CheckingAllocatorTest, MemoryIsGivenBackAtTheEnd) {
  HostAllocator host;
  {
    FaultInjectingAllocator faults(host, {.fail_frees = {1}, .fail_put = 1});
    CheckingAllocator checking(faults);
    EXPECT_THAT(checking.Allocate({.bytes = 8, .tag = "a"}),
                StatusIs(StatusCode::kInternal,
                         AllOf(HasSubstr("write 1"), HasSubstr("roll-back failed: injected"))));
    EXPECT_THAT(checking.Allocate({.bytes = 8, .alignment = 1024, .tag = "b"}), IsOk());
    EXPECT_EQ(host.live_count(), 2u);
  }
  EXPECT_EQ(host.live_count(), 0u);
}

TEST(CheckingAllocatorTest, AFailedInnerFreeKeepsTheBuffer) {
  HostAllocator host;
  FaultInjectingAllocator faults(host, {.fail_frees = {1}});
  CheckingAllocator checking(faults);
  const DeviceAddress a = checking.Allocate({.bytes = 8, .tag = "a"}).value();
  EXPECT_THAT(checking.Free(a), StatusIs(StatusCode::kInternal, HasSubstr("failure of free 1")));
  EXPECT_THAT(checking.Check({}), IsOk());
  EXPECT_THAT(checking.SetBytes(a, 8, 0, {}), IsOk());
  EXPECT_THAT(checking.Free(a), IsOk());
  EXPECT_EQ(host.live_count(), 0u);
}

TEST(CheckingAllocatorTest, RedZonesThatCannotBeReadAreNoPass) {
  HostAllocator host;
  FaultInjectingAllocator faults(host, {.fail_get = 2});
  CheckingAllocator checking(faults);
  const DeviceAddress a = checking.Allocate({.bytes = 8, .tag = "a"}).value();
  EXPECT_THAT(checking.Check({}),
              StatusIs(StatusCode::kInternal, HasSubstr("a: red zone behind: injected failure")));
  EXPECT_THAT(checking.Check({}), IsOk());
  EXPECT_THAT(checking.Free(a), IsOk());

  FaultInjectingAllocator at_free(host, {.fail_get = 1});
  CheckingAllocator other(at_free);
  const DeviceAddress b = other.Allocate({.bytes = 8, .tag = "b"}).value();
  EXPECT_THAT(other.Free(b), StatusIs(StatusCode::kDataLoss, HasSubstr("b: red zone before")));
  EXPECT_EQ(host.live_count(), 0u);
  EXPECT_THAT(other.Check({}), StatusIs(StatusCode::kInternal, HasSubstr("found when freed: b")));
}

TEST(CheckingAllocatorTest, FreeWaitsForTheDeviceFirst) {
  HostAllocator host;
  DeviceAddress a;
  // Work that is still running when Free is called.
  CheckingAllocator checking(host, {.wait_for_device = [&a] {
                               *At(a, 8) = {};
                               return OkStatus();
                             }});
  a = checking.Allocate({.bytes = 8, .tag = "a"}).value();
  EXPECT_THAT(checking.Free(a), StatusIs(StatusCode::kDataLoss, HasSubstr("at offset 8")));
  CheckingAllocator broken(host, {.wait_for_device = [] { return InternalError("lost"); }});
  const DeviceAddress b = broken.Allocate({.bytes = 8, .tag = "b"}).value();
  EXPECT_THAT(broken.Free(b), StatusIs(StatusCode::kDataLoss, HasSubstr("b: lost")));
  EXPECT_EQ(host.live_count(), 0u);
}

TEST(CheckingAllocatorTest, ServesTwoThreads) {
  HostAllocator host;
  CheckingAllocator checking(host);
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&checking, t] {
      const std::string tag = "thread" + std::to_string(t);
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t bytes = 1 + i % 70;
        const DeviceAddress a = checking.Allocate({.bytes = bytes, .tag = tag}).value();
        std::ranges::fill(Contents(a, bytes), static_cast<std::byte>(t));
        DM_CHECK(checking.Check({}).ok());
        // The tag of the other thread is never selected.
        const auto mine = [&tag](std::string_view other) { return other == tag; };
        DM_CHECK(checking.Repoison(mine, Poison::kRandom, i, {}).ok());
        DM_CHECK(Equal(Contents(a, bytes), Filled(bytes, Poison::kRandom, i)));
        DM_CHECK(checking.Free(a).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(checking.Check({}), IsOk());
  EXPECT_EQ(host.live_count(), 0u);
}

TEST(CheckingAllocatorDeathTest, RedZonesAreWholePieces) {
  HostAllocator host;
  EXPECT_DEATH(CheckingAllocator(host, {.zone_bytes = 0}), "zone_bytes");
  EXPECT_DEATH(CheckingAllocator(host, {.zone_bytes = 300}), "zone_bytes");
}

}  // namespace
}  // namespace draftmark
