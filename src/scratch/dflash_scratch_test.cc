#include "src/scratch/dflash_scratch.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/scratch/dflash_borrows.h"
#include "src/scratch/dflash_test_geometry.h"
#include "src/scratch/fault_injection.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/host_event_source.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

DflashScratchLayout Layout(const DflashScratchRequest& request) {
  StatusOr<DflashScratchLayout> layout = DflashScratchLayout::Create(request);
  DM_CHECK(layout.ok());
  return *std::move(layout);
}

struct Memory {
  explicit Memory(FaultPlan plan = {}) : faults(host, std::move(plan)), allocator(faults, ledger) {}
  HostAllocator host{{.poison = Poison::kOnes}};
  FaultInjectingAllocator faults;
  Ledger ledger;
  LedgerAllocator allocator;
  HostEventSource events;
};

TEST(DflashScratchTest, AllocatesEveryFieldUnderItsName) {
  for (const std::uint64_t version : {1u, 2u}) {
    Memory memory;
    const DflashScratchLayout layout = Layout(TinyRequest(version));
    DM_ASSERT_OK_AND_ASSIGN(const auto scratch,
                            DflashScratchMemory::Create(layout, memory.allocator, memory.events));
    EXPECT_EQ(memory.ledger.Total(MemoryKind::kDevice).live_bytes, layout.device_bytes());
    EXPECT_EQ(memory.ledger.Total(MemoryKind::kHostPinned).live_bytes, layout.host_pinned_bytes());
    EXPECT_EQ(memory.ledger.Total().live_count, version == 1 ? 25u : 26u);  // all but the event
    EXPECT_EQ(memory.events.live_count(), 1u);
    for (const DflashFieldLayout& field : layout.fields()) {
      EXPECT_EQ(memory.ledger.Of(field.field->name).live_bytes, field.bytes) << field.field->name;
    }
    EXPECT_EQ(scratch->scratch().precompute_in.is_null(), version == 1);
    EXPECT_NE(scratch->scratch().draft_tokens_event, 0u);
    EXPECT_EQ(scratch->scratch().slot_mapping_dev.bits() % 8, 0u);
  }
}

TEST(DflashScratchTest, NullFieldsTakeNoMemory) {
  Memory memory;
  DflashScratchRequest request = TinyRequest(2);
  request.geometry.markov_rank = 0;
  request.tensors = {};
  DM_ASSERT_OK_AND_ASSIGN(
      const auto scratch,
      DflashScratchMemory::Create(Layout(request), memory.allocator, memory.events));
  EXPECT_EQ(memory.ledger.Total().live_count, 18u);
  EXPECT_TRUE(scratch->scratch().markov_bias.is_null());
  EXPECT_TRUE(scratch->scratch().conf_out.is_null());
  EXPECT_TRUE(scratch->scratch().sel_hproj.is_null());
  EXPECT_FALSE(scratch->scratch().logits.is_null());
}

TEST(DflashScratchTest, OnlyThePinnedBufferIsZeroed) {
  Memory memory;
  const DflashScratchLayout layout = Layout(TinyRequest(2));
  DM_ASSERT_OK_AND_ASSIGN(const auto scratch,
                          DflashScratchMemory::Create(layout, memory.allocator, memory.events));
  const std::uint8_t* pinned =
      scratch->scratch().draft_tokens_host_pinned.load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < layout.host_pinned_bytes(); ++i) EXPECT_EQ(pinned[i], 0);
  EXPECT_EQ(scratch->scratch().logits.get()[0].bits, 0xFFFF);
  EXPECT_EQ(scratch->scratch().position_ids.get()[36], -1);
  EXPECT_EQ(memory.faults.fills(), 1u);
}

TEST(DflashScratchTest, AFailedAllocationRollsEverythingBack) {
  const DflashScratchLayout layout = Layout(TinyRequest(2));
  for (std::uint64_t k = 1; k <= 26; ++k) {
    Memory memory({.fail_allocation = k});
    EXPECT_THAT(DflashScratchMemory::Create(layout, memory.allocator, memory.events),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("injected")));
    EXPECT_EQ(memory.ledger.Total().live_bytes, 0u);
    EXPECT_EQ(memory.host.live_count(), 0u);
    EXPECT_EQ(memory.events.live_count(), 0u);
  }
  Memory no_event;
  no_event.events.FailNextCreate();
  EXPECT_THAT(DflashScratchMemory::Create(layout, no_event.allocator, no_event.events),
              StatusIs(StatusCode::kResourceExhausted, StartsWith("draft_tokens_event: ")));
  EXPECT_EQ(no_event.host.live_count(), 0u);
  Memory no_fill({.fail_fill = 1});
  EXPECT_THAT(DflashScratchMemory::Create(layout, no_fill.allocator, no_fill.events),
              StatusIs(StatusCode::kInternal, StartsWith("draft_tokens_host_pinned: ")));
  EXPECT_EQ(no_fill.host.live_count(), 0u);
}

TEST(DflashScratchTest, AFailedRollBackIsReportedWithItsCause) {
  Memory memory({.fail_allocation = 4, .fail_frees = {1}});
  EXPECT_THAT(
      DflashScratchMemory::Create(Layout(TinyRequest(2)), memory.allocator, memory.events),
      StatusIs(StatusCode::kResourceExhausted,
               AllOf(StartsWith("k_buf: "), HasSubstr("stream_buf: injected failure of free 1"))));
}

TEST(DflashScratchTest, ReleaseTwiceAndPastFailures) {
  Memory memory({.fail_frees = {2}});
  DM_ASSERT_OK_AND_ASSIGN(
      const auto scratch,
      DflashScratchMemory::Create(Layout(TinyRequest(2)), memory.allocator, memory.events));
  memory.events.FailNextDestroy();
  EXPECT_THAT(scratch->Release(), StatusIs(StatusCode::kInternal, StartsWith("norm_buf: ")));
  EXPECT_EQ(memory.faults.frees(), 26u);
  EXPECT_EQ(memory.host.live_count(), 1u);
  EXPECT_EQ(scratch->scratch().draft_tokens_host_pinned.load(), nullptr);
  EXPECT_EQ(scratch->scratch().draft_tokens_event, 0u);
  EXPECT_TRUE(scratch->scratch().norm_buf.is_null());
  EXPECT_THAT(scratch->Release(), IsOk());
}

TEST(DflashScratchTest, DestructionFreesEverything) {
  Memory memory;
  {
    auto scratch =
        DflashScratchMemory::Create(Layout(TinyRequest(1)), memory.allocator, memory.events);
  }
  EXPECT_EQ(memory.host.live_count(), 0u);
  EXPECT_EQ(memory.events.live_count(), 0u);
}

TEST(DflashScratchTest, BorrowsThatDoNotHoldAreRefusedBeforeAllocating) {
  Memory memory;
  DflashScratchRequest request = TinyRequest(2);
  request.geometry.num_hidden_layers = 8;
  const DflashScratchLayout wide = Layout(request);
  EXPECT_THAT(DflashScratchMemory::Create(wide, memory.allocator, memory.events),
              StatusIs(StatusCode::kFailedPrecondition, StartsWith("K stage in mlp_intermediate")));
  EXPECT_EQ(memory.faults.allocations(), 0u);
  EXPECT_THAT(DflashScratchMemory::Create(wide, memory.allocator, memory.events,
                                          {.allow_short_precompute = true}),
              IsOk());
  EXPECT_EQ(MaxPrecomputeRows(wide), 13u);
}

// The proposer's thread and the device's, on one scratch: many proposes, each waiting for its own
// tokens. Meant for --config=tsan: the relaxed pointer load must be enough, since the pointer never
// changes, and the event orders the data.
TEST(DflashScratchTest, TwoThreadsShareOneScratch) {
  HostAllocator host;
  HostEventSource events(HostEventSource::Completion::kManual);
  const DflashScratchLayout layout = Layout(TinyRequest(2, 32, 8));
  DM_ASSERT_OK_AND_ASSIGN(const auto memory, DflashScratchMemory::Create(layout, host, events));
  const DflashScratch& scratch = memory->scratch();
  constexpr std::uint32_t kProposes = 500;
  const std::uint64_t tokens = layout.host_pinned_bytes() / sizeof(std::uint32_t);
  std::atomic<std::uint32_t> launched = 0;

  // Joined on every way out: after a failed assertion it is asked to stop waiting for launches.
  const std::jthread device([&](const std::stop_token& stop) {
    for (std::uint32_t propose = 1; propose <= kProposes; ++propose) {
      while (launched.load(std::memory_order_acquire) < propose) {
        if (stop.stop_requested()) return;
        std::this_thread::yield();
      }
      std::uint8_t* const pinned = scratch.draft_tokens_host_pinned.load(std::memory_order_relaxed);
      for (std::uint32_t i = 0; i < tokens; ++i) {
        const std::uint32_t token = propose * 1000 + i;
        std::memcpy(pinned + 4 * i, &token, 4);
      }
      DM_CHECK(events.Complete(scratch.draft_tokens_event).ok());
    }
  });
  for (std::uint32_t propose = 1; propose <= kProposes; ++propose) {
    ASSERT_THAT(events.Record(scratch.draft_tokens_event, {}), IsOk());
    launched.store(propose, std::memory_order_release);
    ASSERT_THAT(events.Wait(scratch.draft_tokens_event), IsOk());
    const std::uint8_t* const pinned =
        scratch.draft_tokens_host_pinned.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < tokens; ++i) {
      std::uint32_t token = 0;
      std::memcpy(&token, pinned + 4 * i, 4);
      ASSERT_EQ(token, propose * 1000 + i);
    }
  }
}

TEST(HostEventSourceTest, FollowsCudaSemantics) {
  HostEventSource events;
  DM_ASSERT_OK_AND_ASSIGN(const std::uint64_t event, events.Create());
  EXPECT_NE(event, 0u);
  EXPECT_THAT(events.Wait(event), IsOk());  // never recorded: nothing to wait for
  EXPECT_THAT(events.Record(event, {}), IsOk());
  EXPECT_THAT(events.Wait(event), IsOk());
  EXPECT_THAT(events.Destroy(event), IsOk());
  for (const Status& status : {events.Destroy(event), events.Record(event, {}), events.Wait(event),
                               events.Complete(event)}) {
    EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument, HasSubstr("event 1")));
  }
}

}  // namespace
}  // namespace draftmark
