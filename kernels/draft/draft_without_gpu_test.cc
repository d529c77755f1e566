// Sessions on a runtime without a device (src/cuda/fake_runtime.h): each allocation of the host fails once in turn, and
// each call of CUDA's, through opening and through a history of every call. The error is clear, nothing is leaked, and
// what comes after is as if nothing had been. Two threads with a session each do not disturb each other. Kernels do nothing
// there, so nothing is said of what they compute.
#include <gmock/gmock.h>

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "kernels/draft/testing/session_faults.h"
#include "src/base/failing_new.h"
#include "src/cuda/fake_runtime.h"

namespace draftmark::kernels {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Setting {
  std::string name;
  DraftVariant variant;
  CudaSessionOptions options = {};
};

std::vector<Setting> Settings() {
  return {{"dflash_odd", DraftVariantOf("dflash_odd")},
          {"dflash2", DraftVariantOf("dflash2")},
          {"dspark_rnn", DraftVariantOf("dspark_rnn")},
          {"wide", WideDraftVariantOf("dflash")},
          {"v1", DraftVariantOf("dspark_vanilla"), {.scratch_version = 1}},
          {"contiguous", DraftVariantOf("dflash"), {.paged = false}},
          {"eager", DraftVariantOf("confidence"), {.graphs = false, .fast = false}}};
}

class DraftWithoutGpuTest : public ::testing::TestWithParam<Setting> {
 protected:
  static std::int64_t Objects() {
    const FakeObjects alive = FakeObjectsAlive();
    return alive.device_blocks + alive.pinned_blocks + alive.streams + alive.events + alive.graphs;
  }
  FaultyHistory History() {
    return FaultyHistory(GetParam().variant, GetParam().options, allocator_, stream_.get());
  }

  CudaAllocator allocator_;
  const CudaStream stream_ = CudaStream::Create().value();
};

INSTANTIATE_TEST_SUITE_P(Settings, DraftWithoutGpuTest, ::testing::ValuesIn(Settings()),
                         [](const auto& run) { return run.param.name; });

TEST_P(DraftWithoutGpuTest, TheHistoryRunsAndLeavesNothing) {
  const std::int64_t before = Objects();
  const std::int64_t kernels = FakeKernelsLaunched();
  DM_ASSERT_OK_AND_ASSIGN(const HistoryOutcome outcome, History().Run());
  EXPECT_EQ(outcome.proposed.size(), 1u);
  EXPECT_EQ(outcome.collected.size(), 1u);
  EXPECT_EQ(outcome.after_reset.size(), 1u);
  EXPECT_TRUE(outcome.stages.stages.contains({0, "logits"}));
  EXPECT_TRUE(outcome.stages.stages.contains({0, "fc"}));
  EXPECT_GT(FakeKernelsLaunched(), kernels + 20);
  EXPECT_EQ(Objects(), before);
}

TEST_P(DraftWithoutGpuTest, EveryHostAllocationOfOpening) {
  EXPECT_GT(FailEveryHostAllocationOfOpening(History(), Objects), 100);
}

TEST_P(DraftWithoutGpuTest, EveryHostAllocationOfEveryCall) {
  const std::int64_t before = Objects();
  const std::int64_t failures = FailEveryHostAllocationOfCalls(History());
  EXPECT_GT(failures, 50);
  EXPECT_EQ(Objects(), before);
  std::cout << failures << " failures of host allocations\n";
}

// Opening, graphs and drafts of two sessions at once, each with a thread of its own: they share the device and the turns
// that they take on it, and ThreadSanitizer finds what else they do.
TEST_P(DraftWithoutGpuTest, TwoThreadsWithASessionEach) {
  constexpr int kRounds = 5;
  const std::int64_t before = Objects();
  const auto run = [&](int& good) {
    CudaAllocator allocator;
    const CudaStream stream = CudaStream::Create().value();
    const FaultyHistory history(GetParam().variant, GetParam().options, allocator, stream.get());
    for (int i = 0; i < kRounds; ++i) {
      const StatusOr<HistoryOutcome> outcome = history.Run();
      EXPECT_THAT(outcome, IsOk());
      good += outcome.ok() ? 1 : 0;
    }
  };
  int here = 0, there = 0;
  {
    std::jthread other([&] { run(there); });
    run(here);
  }
  EXPECT_EQ(here, kRounds);
  EXPECT_EQ(there, kRounds);
  EXPECT_EQ(Objects(), before);
}

// The text of a refusal is made of memory too.
TEST_P(DraftWithoutGpuTest, WhereEvenTheRefusalFindsNoMemory) {
  DM_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CudaDraftSession> session, History().Open());
  const std::vector<BFloat16> taps(1);
  const std::vector<std::int32_t> positions(1);
  const std::vector<std::function<Status()>> refused = {
      [&] { return session->AppendContext(7, taps, positions); },
      [&] { return session->DropFront(0, 1'000'000); },
      [&] { return session->Reset(7); },
      [&] { return session->Reopen(7, 1); },
      [&] { return session->Propose({}, nullptr).status(); },
      [&] { return session->Enqueue({}); },
      [&] { return session->Collect().status(); }};
  for (const std::function<Status()>& call : refused) {
    ASSERT_FALSE(call().ok());
    FailHostAllocation(1);
    const Status status = call();
    EXPECT_TRUE(StopFailing());
    EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, HasSubstr("host memory")));
  }
}

// Device and pinned memory, streams, events, graphs, launches, copies and waits. After an error of CUDA a session is of no
// use, but a new one is.
TEST_P(DraftWithoutGpuTest, EveryCallOfCuda) {
  const FaultyHistory history = History();
  ASSERT_THAT(history.Run(), IsOk());
  const std::int64_t objects = Objects();
  std::map<std::string, std::int64_t> failures;
  std::int64_t n = 0;
  bool in_destructor = false;
  for (bool failed = true; failed;) {
    ASSERT_LT(++n, 5000) << "never succeeds";
    FailFakeCall(n);
    const StatusOr<HistoryOutcome> outcome = history.Run();
    failed = StopFailingFakeCalls();
    const std::string call = FailedFakeCall();
    if (failed && outcome.ok()) {
      // Only the session's destructor, which waits for the stream, has nobody to tell.
      EXPECT_EQ(call, "cudaStreamSynchronize");
      EXPECT_FALSE(std::exchange(in_destructor, true)) << "call " << n;
    } else if (failed) {
      ++failures[call];
      // A launch that fails is named by its operation.
      ASSERT_THAT(outcome, StatusIs(StatusCode::kResourceExhausted,
                                    AnyOf(HasSubstr(call), HasSubstr("launch of"))))
          << "call " << n;
    } else {
      ASSERT_THAT(outcome, IsOk());
    }
    ASSERT_EQ(Objects(), objects) << "call " << n << ", " << call;
    // Nor is its error left to the next one.
    ASSERT_EQ(cudaPeekAtLastError(), cudaSuccess) << "call " << n << ", " << call;
    if (n % 8 == 0) {
      ASSERT_THAT(history.Run(), IsOk()) << "after call " << n << ", " << call;
    }
  }
  EXPECT_GT(n, 100);
  for (const char* const call :
       {"cudaMalloc", "cudaMallocHost", "cudaEventCreateWithFlags", "cudaStreamCreateWithFlags"}) {
    EXPECT_GT(failures[call], 0) << call;
  }
}

}  // namespace
}  // namespace draftmark::kernels
