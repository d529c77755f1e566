// Host memory that ends, on a GPU; draft_without_gpu_test.cc does the same, and more, without one.
#include "kernels/draft/testing/session_faults.h"

#include <iostream>

#include "src/scratch/fault_injection.h"
#include "src/scratch/ledger.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

struct Setting {
  const char* name;
  DraftVariant variant;
  CudaSessionOptions options;
};

std::vector<Setting> Settings() {
  return {{"dspark_rnn", DraftVariantOf("dspark_rnn"), {}},
          {"wide", WideDraftVariantOf("dflash"), {}},
          {"contiguous", DraftVariantOf("dflash_odd"), {.paged = false}}};
}

class SessionFaultsTest : public DraftTest {};

// Each 5th: the fake runtime's test takes all of them, and a GPU's time is dear.
constexpr std::int64_t kStride = 5;

TEST_F(SessionFaultsTest, HostMemoryEndsAsASessionIsOpened) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(setting.name);
    const FaultyHistory history(setting.variant, setting.options, allocator(), stream());
    const std::int64_t failures = FailEveryHostAllocationOfOpening(
        history, [&] { return static_cast<std::int64_t>(allocator().live_count()); }, kStride);
    EXPECT_GT(failures, 20);
    std::cout << setting.name << ": " << failures << " host allocations of opening failed\n";
  }
}

TEST_F(SessionFaultsTest, HostMemoryEndsInEachCall) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(setting.name);
    const FaultyHistory history(setting.variant, setting.options, allocator(), stream());
    const std::int64_t failures = FailEveryHostAllocationOfCalls(history, kStride);
    EXPECT_GT(failures, 20);
    std::cout << setting.name << ": " << failures << " host allocations of calls failed\n";
  }
  EXPECT_EQ(allocator().live_count(), 0u);
}

// Device memory and pinned memory; all of it is allocated as weights and session are opened, and a draft takes none
// (session_memory_test.cc).
TEST_F(SessionFaultsTest, AfterEveryFailureOfTheAllocatorADraftIsAsEver) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(setting.name);
    const FaultyHistory history(setting.variant, setting.options, allocator(), stream());
    DM_ASSERT_OK_AND_ASSIGN(const HistoryOutcome expected, history.Run());
    Ledger ledger;
    LedgerAllocator counted(allocator(), ledger);
    std::uint64_t n = 0;
    for (bool opened = false; !opened; ++n) {
      ASSERT_LT(n, 500u) << "never succeeds";
      FaultInjectingAllocator failing(counted, {.fail_allocation = n + 1});
      const StatusOr<std::unique_ptr<CudaDraftSession>> session = history.OpenOn(failing);
      opened = session.ok();
      if (opened) break;
      EXPECT_THAT(session,
                  StatusIs(StatusCode::kResourceExhausted,
                           HasSubstr("injected failure of allocation " + std::to_string(n + 1))));
      ASSERT_EQ(ledger.Total().live_count, 0u) << "failure " << n + 1 << "\n" << ledger.ToString();
      if (n % kStride != 0) continue;
      DM_ASSERT_OK_AND_ASSIGN(const HistoryOutcome again, history.Run());
      ASSERT_EQ(DifferenceOf(expected, again), "") << "after failure " << n + 1;
    }
    EXPECT_GT(n, 40u);
    EXPECT_EQ(ledger.Total().live_count, 0u);
  }
}

}  // namespace
}  // namespace draftmark::kernels
