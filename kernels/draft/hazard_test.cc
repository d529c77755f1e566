// Proposes that are enqueued faster than the device works: the host's inputs of one call must not
// disturb those of another (spec/dflash_scratch.md section 5), and a failed call leaves no trace.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/testing/stream_gate.h"
#include "src/cuda/device_buffer.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

constexpr std::int32_t kContext = 60;

struct Call {
  std::vector<std::uint64_t> drops;  // of each band, before the propose; makes a pass necessary
  std::vector<BlockRequest> requests;
};

class HazardTest : public DraftTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    DraftTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // All contexts in advance: AppendContext waits for the stream.
    hurried_ = OpenWithContext();
    waiting_ = OpenWithContext();
  }
  std::unique_ptr<CudaDraftSession> OpenWithContext() {
    std::unique_ptr<CudaDraftSession> session = Open(variant_, limits_);
    for (std::uint64_t band = 0; band < limits_.max_batch; ++band) {
      EXPECT_THAT(AppendRows(*session, variant_.config, band, band + 1, 0, kContext), IsOk());
    }
    ClearPools(*session);
    for (std::uint64_t width = 2; width <= limits_.gamma; ++width) {
      for (const std::uint64_t bands : {1u, 2u, 4u}) {
        EXPECT_THAT(session->Prepare(width, bands), IsOk());
      }
    }
    return session;
  }
  // Call `i` of a sequence in which every band has its turn, alone and with others, at all widths.
  Call CallOf(int i) const {
    const auto nb = static_cast<int>(limits_.max_batch);
    const int bands = i % 4 == 3 ? nb : 1 + i % 2;
    Call call{.drops = std::vector<std::uint64_t>(limits_.max_batch, 0), .requests = {}};
    for (int k = 0; k < bands; ++k) {
      // Twice the same band, then the next.
      const auto band = static_cast<std::size_t>((i / 2 + k) % nb);
      // Every third call only moves anchor and width: a graph without a pass.
      if (i % 3 != 0) call.drops[band] = 1;
      call.requests.push_back(
          Block(variant_.config, band, static_cast<std::uint32_t>(7 * i + k) % 90,
                kContext + 3 * i + k, 2 + static_cast<std::size_t>(5 * i) % (limits_.gamma - 1)));
    }
    return call;
  }
  static Status Enqueue(CudaDraftSession& session, const Call& call) {
    for (std::size_t band = 0; band < call.drops.size(); ++band) {
      DM_RETURN_IF_ERROR(session.DropFront(band, call.drops[band]));
    }
    return session.Enqueue(call.requests);
  }
  void ExpectSameEnd(const std::vector<BlockResult>& expected) {
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, hurried_->Collect());
    EXPECT_EQ(DifferenceOf(expected, got), "");
    EXPECT_TRUE(PoolBytes(*waiting_) == PoolBytes(*hurried_)) << "K/V pools differ";
  }

  const DraftVariant variant_ = DraftVariantOf(GetParam());
  const SessionLimits limits_ = SmallLimits(4);
  std::unique_ptr<CudaDraftSession> hurried_, waiting_;
};
INSTANTIATE_TEST_SUITE_P(Variants, HazardTest,
                         ::testing::Values("dflash", "dflash_odd", "dflash2", "dspark_rnn"),
                         [](const auto& run) { return run.param; });

// A band's whole context is written again after a drop, by four passes or more: the slots go round
// several times in one call.
TEST_P(HazardTest, FortyCallsBehindASlowStream) {
  constexpr int kCalls = 40;
  constexpr std::uint64_t kSlowBytes = std::uint64_t{256} << 20;
  const DeviceBuffer slow =
      DeviceBuffer::Create(allocator(), {.bytes = kSlowBytes, .tag = "slow"}).value();
  std::vector<BlockResult> expected;
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_THAT(Enqueue(*waiting_, CallOf(i)), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(expected, waiting_->Collect());
  }
  for (int i = 0; i < kCalls; ++i) {
    // About half a millisecond each on an H200 (4.8 TB/s), longer than the host needs for a call.
    for (int k = 0; k < 8; ++k) {
      ASSERT_EQ(cudaMemsetAsync(slow.address().value, i, kSlowBytes, hurried_->parts().stream),
                cudaSuccess);
    }
    ASSERT_THAT(Enqueue(*hurried_, CallOf(i)), IsOk());
  }
  EXPECT_EQ(cudaStreamQuery(hurried_->parts().stream), cudaErrorNotReady)
      << "the device kept up: nothing was tested";
  (void)cudaGetLastError();  // "not ready" must not be taken for the next launch's
  ExpectSameEnd(expected);
}

// With the stream at a standstill, as many calls as there are slots return at once; the next one
// waits for a slot instead of overwriting what is on its way.
TEST_P(HazardTest, ACallWithoutAFreeSlotWaits) {
  const auto blocks_only = [&](int i) {
    Call call = CallOf(i);
    call.drops.assign(limits_.max_batch, 0);
    return call;
  };
  // The contexts are in the cache first: one slot for each call from then on.
  std::vector<BlockRequest> all;
  for (std::size_t band = 0; band < limits_.max_batch; ++band) {
    all.push_back(Block(variant_.config, band, 3, kContext, 5));
  }
  constexpr auto kCalls = static_cast<int>(kStagingSlots) + 1;
  std::vector<BlockResult> expected;
  ASSERT_THAT(waiting_->Propose(all, nullptr), IsOk());
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_THAT(waiting_->Enqueue(blocks_only(i).requests), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(expected, waiting_->Collect());
  }
  ASSERT_THAT(hurried_->Propose(all, nullptr), IsOk());

  StreamGate gate(hurried_->parts().stream);
  std::promise<void> all_but_one;
  std::future<void> reached = all_but_one.get_future();
  std::future<Status> calls = std::async(std::launch::async, [&] {
    for (int i = 0; i < kCalls; ++i) {
      if (i == kCalls - 1) all_but_one.set_value();
      DM_RETURN_IF_ERROR(hurried_->Enqueue(blocks_only(i).requests));
    }
    return OkStatus();
  });
  EXPECT_EQ(reached.wait_for(std::chrono::seconds(20)), std::future_status::ready)
      << "a call waited although a slot was free";
  // Long enough for a call that does not wait: those before it took far less.
  EXPECT_EQ(calls.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout)
      << "the slot of the first call was used again";
  gate.Open();
  ASSERT_THAT(calls.get(), IsOk());
  ExpectSameEnd(expected);
}

// What the two tests above rest on. A copy from page-locked memory reads it when the stream comes
// to it: without a wait, a slot that is filled again early would send the later call's inputs.
TEST_F(DraftTest, ASlotThatIsFilledTooEarlySendsTheLaterInputs) {
  for (const std::uint64_t bytes : {std::uint64_t{256}, std::uint64_t{1} << 20}) {
    const DeviceBuffer slot =
        DeviceBuffer::Create(allocator(),
                             {.bytes = bytes, .kind = MemoryKind::kHostPinned, .tag = "slot"})
            .value();
    const DeviceBuffer device =
        DeviceBuffer::Create(allocator(), {.bytes = bytes, .tag = "device"}).value();
    std::memset(slot.address().value, 1, bytes);
    StreamGate gate(stream());
    ASSERT_EQ(cudaMemcpyAsync(device.address().value, slot.address().value, bytes,
                              cudaMemcpyHostToDevice, stream()),
              cudaSuccess);
    std::memset(slot.address().value, 2, bytes);
    gate.Open();
    std::vector<std::byte> sent(bytes);
    ASSERT_THAT(CopyToHost(sent, device.address(), stream()), IsOk());
    ASSERT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
    EXPECT_TRUE(sent == std::vector<std::byte>(bytes, std::byte{2})) << bytes << " bytes";
  }
}

// And stale inputs show: each one that a call brings is visible in the pools or in the results.
TEST_P(HazardTest, EveryInputOfACallShows) {
  const auto outcome = [&](const Call& call) {
    ClearPools(*hurried_);
    EXPECT_THAT(Enqueue(*hurried_, call), IsOk());
    EXPECT_THAT(hurried_->Collect(), IsOk());
    return PoolBytes(*hurried_);
  };
  const Call base{.drops = {0, 0, 0, 0},
                  .requests = {Block(variant_.config, 1, 5, kContext + 9, 6)}};
  const auto changed = [&](auto&& change) {
    Call call = base;
    change(call.requests.front());
    return call;
  };
  (void)outcome(base);  // the context is in the cache now, and a propose writes block rows only
  const std::vector<std::byte> expected = outcome(base);
  EXPECT_TRUE(outcome(base) == expected) << "the same call again";
  EXPECT_FALSE(outcome(changed([](BlockRequest& r) { r.tokens[0] = 6; })) == expected) << "anchor";
  // With a mask embedding of its own no mask row's id is read.
  EXPECT_EQ(outcome(changed([](BlockRequest& r) { r.tokens[5] = 6; })) == expected,
            variant_.generator.mask_embedding)
      << "token";
  EXPECT_FALSE(outcome(changed([](BlockRequest& r) { ++r.start; })) == expected) << "start";
  EXPECT_FALSE(outcome(changed([](BlockRequest& r) { r.band = 2; })) == expected) << "block table";
  EXPECT_FALSE(outcome(changed([](BlockRequest& r) { r.tokens.pop_back(); })) == expected)
      << "width";
  Call dropped = base;
  dropped.drops[1] = 1;
  EXPECT_FALSE(outcome(dropped) == expected) << "the rows and slots of a pass";
}

TEST_P(HazardTest, AFailedCallChangesNothing) {
  const DrafterConfig& config = variant_.config;
  const auto refuse = [&](std::vector<BlockRequest> requests, const char* reason) {
    EXPECT_THAT(hurried_->Enqueue(requests),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(reason)));
    EXPECT_THAT(hurried_->Propose(requests, nullptr),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(reason)));
  };
  const auto fail_in_every_way = [&] {
    BlockRequest good = Block(config, 0, 3, kContext + 40, 5);
    BlockRequest bad = good;
    bad.tokens[2] = static_cast<std::uint32_t>(config.vocab_size);
    refuse({bad}, "token id");
    refuse({good, good}, "twice");
    refuse({}, "no band");
    refuse({Block(config, 0, 3, kContext - 1, 5)}, "above the last context position");
    refuse({Block(config, 0, 3, kContext + 40, 9)}, "block rows");
    refuse({Block(config, 9, 3, kContext + 40, 5)}, "band 9");
    refuse({good, Block(config, 1, 3, kContext + 40, 4)}, "block rows");
    EXPECT_THAT(AppendRows(*hurried_, config, 0, 1, kContext, 30),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("exceed the session's 70")));
    EXPECT_THAT(AppendRows(*hurried_, config, 0, 1, 3, 1),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("ascend")));
    EXPECT_THAT(hurried_->DropFront(0, 71),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("drop")));
    EXPECT_THAT(hurried_->Prepare(9, 1),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("prepare: block width")));
    EXPECT_THAT(hurried_->Prepare(3, 5),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("prepare: bands")));
    EXPECT_THAT(hurried_->Reset(4), StatusIs(StatusCode::kInvalidArgument, HasSubstr("band 4")));
  };
  fail_in_every_way();
  EXPECT_THAT(hurried_->Collect(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("enqueued")));
  std::vector<BlockResult> expected;
  for (int i = 0; i < 6; ++i) {
    ASSERT_THAT(Enqueue(*waiting_, CallOf(i)), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(expected, waiting_->Collect());
    ASSERT_THAT(Enqueue(*hurried_, CallOf(i)), IsOk());
    // Between the two halves: the results of the call before are still to be had.
    fail_in_every_way();
    if (i == 5) break;
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, hurried_->Collect());
    ASSERT_EQ(DifferenceOf(expected, got), "") << "call " << i;
  }
  EXPECT_EQ(hurried_->replays(), waiting_->replays());
  ExpectSameEnd(expected);
}

// A graph's first run leaves tokens where a propose leaves them: they must not pass for results.
TEST_P(HazardTest, PrepareLosesWhatWasNotCollected) {
  ASSERT_THAT(hurried_->Enqueue(CallOf(1).requests), IsOk());
  ASSERT_THAT(hurried_->Prepare(4, 3), IsOk());
  EXPECT_THAT(hurried_->Collect(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("enqueued")));
  // The rows are in the cache all the same.
  ASSERT_THAT(waiting_->Propose(CallOf(1).requests, nullptr), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const auto expected, waiting_->Propose(CallOf(2).requests, nullptr));
  ASSERT_THAT(hurried_->Enqueue(CallOf(2).requests), IsOk());
  ExpectSameEnd(expected);
}

}  // namespace
}  // namespace draftmark::kernels
