// What benchmarks rely on: a reopened propose computes the same rows again, and the events around
// the launches are recorded.
#include <gmock/gmock.h>

#include <numeric>

#include "kernels/draft/cuda_session.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/weights/random_drafter.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kWidth = 8;

class ReopenTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto weights =
        DraftWeights::Upload(config_, *RandomWeights(config_, 1), memory_, stream()).value();
    session_ =
        OpenCudaSession(config_, std::move(weights),
                        {.max_batch = 1, .max_context = 40, .ctx_window = 16, .gamma = kWidth},
                        memory_, nullptr)
            .value();
    Append(0, 21);
    ASSERT_THAT(session_->Propose({{Request(21)}}, nullptr).status(), IsOk());
    Append(21, 5);
  }

  void Append(std::int32_t first, std::int64_t rows) {
    std::vector<std::int32_t> positions(static_cast<std::size_t>(rows));
    std::iota(positions.begin(), positions.end(), first);
    const auto width = static_cast<std::int64_t>(config_.tap_width());
    ASSERT_THAT(session_->AppendContext(0, Random("taps", rows * width, 1), positions), IsOk());
  }
  static BlockRequest Request(std::int64_t start) {
    BlockRequest request = {
        .band = 0, .tokens = std::vector<std::uint32_t>(kWidth, 7), .start = start};
    request.tokens[0] = 3;
    return request;
  }
  std::vector<BFloat16> ProposeLogits() {
    EXPECT_THAT(session_->Propose({{Request(26)}}, nullptr).status(), IsOk());
    std::vector<BFloat16> logits(kWidth * config_.vocab_size);
    EXPECT_THAT(CopyToHost(std::as_writable_bytes(std::span(logits)),
                           {session_->parts().scratch.logits.get()}, session_->parts().stream),
                IsOk());
    EXPECT_EQ(cudaStreamSynchronize(session_->parts().stream), cudaSuccess);
    return logits;
  }
  // Writes zeros over the last `rows` of the 26 context rows in all layers.
  void EraseFromCache(std::uint64_t rows) {
    const CachePools& pools = session_->parts().cache;
    const std::uint64_t bytes = config_.kv_dim() * sizeof(BFloat16);
    std::vector<std::uint32_t> table(session_->plan().blocks_per_band);
    ASSERT_EQ(cudaMemcpy(table.data(), session_->parts().workspace.block_tables,
                         table.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
              cudaSuccess);
    for (std::uint64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
      for (std::uint64_t m = 26 - rows; m < 26; ++m) {
        const std::uint64_t slot = table[m / 16] * 16 + m % 16;
        ASSERT_EQ(cudaMemset(pools.KeysOf(layer) + slot * config_.kv_dim(), 0, bytes), cudaSuccess);
        ASSERT_EQ(cudaMemset(pools.ValuesOf(layer) + slot * config_.kv_dim(), 0, bytes),
                  cudaSuccess);
      }
    }
    // The session's stream does not wait for the default one.
    ASSERT_THAT(SynchronizeDevice(), IsOk());
  }
  static bool Same(const std::vector<BFloat16>& a, const std::vector<BFloat16>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](BFloat16 x, BFloat16 y) { return x.ToDouble() == y.ToDouble(); });
  }

  const DrafterConfig config_ = SmallDrafterConfig();
  CudaAllocator memory_;
  std::unique_ptr<CudaDraftSession> session_;
};

TEST_F(ReopenTest, ComputesTheRowsAgain) {
  const std::vector<BFloat16> logits = ProposeLogits();
  EraseFromCache(5);
  EXPECT_FALSE(Same(ProposeLogits(), logits)) << "the erased rows do not matter; the test is blind";
  ASSERT_THAT(session_->Reopen(0, 5), IsOk());
  EXPECT_TRUE(Same(ProposeLogits(), logits));
  EXPECT_EQ(session_->eager_runs(), 0u);
}

TEST_F(ReopenTest, FewerRowsLeaveTheOthersAsTheyAre) {
  const std::vector<BFloat16> logits = ProposeLogits();
  EraseFromCache(5);
  ASSERT_THAT(session_->Reopen(0, 4), IsOk());
  EXPECT_FALSE(Same(ProposeLogits(), logits));
}

TEST_F(ReopenTest, RowsThatAreNotInTheCacheAreRefused) {
  EXPECT_THAT(session_->Reopen(0, 22),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot reopen 22 of 21")));
  EXPECT_THAT(session_->Reopen(1, 1), StatusIs(StatusCode::kInvalidArgument, HasSubstr("band 1")));
}

TEST_F(ReopenTest, EventsLieAroundTheLaunches) {
  DM_ASSERT_OK_AND_ASSIGN(CudaEvent before, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSERT_OK_AND_ASSIGN(CudaEvent behind, CudaEvent::Create(CudaEvent::Timing::kOn));
  session_->TimeLaunches(&before, &behind);
  ProposeLogits();
  DM_ASSERT_OK_AND_ASSIGN(const double milliseconds, behind.MillisecondsSince(before));
  EXPECT_GT(milliseconds, 0);
  // Events that nobody records any more keep their times.
  session_->TimeLaunches(nullptr, nullptr);
  ASSERT_THAT(session_->Reopen(0, 5), IsOk());
  ProposeLogits();
  DM_ASSERT_OK_AND_ASSIGN(const double again, behind.MillisecondsSince(before));
  EXPECT_EQ(again, milliseconds);
}

TEST_F(ReopenTest, ADraftTakesAsManyRowsAsItsBlockHas) {
  EXPECT_EQ(session_->PassRows(kWidth, 1),
            kWidth);  // convention A: width - 1 drafts and the anchor
}

}  // namespace
}  // namespace draftmark::kernels
