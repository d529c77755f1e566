// 20,000 proposes of the reference on a small drafter, and what a soak finds.
#include "kernels/draft/testing/soak.h"

#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/draft/testing/random_driver.h"
#include "src/backend/session_plan.h"
#include "src/base/status_matchers.h"
#include "src/reference/session.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"
#include "src/weights/random_drafter.h"

namespace draftmark {
namespace {

using kernels::DraftStep;
using kernels::RandomDriver;
using kernels::RunSoak;
using kernels::SoakPlan;
using kernels::SoakProbe;
using kernels::SoakReport;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Small enough for 20,000 proposes; every part of a DFlash draft is there.
DrafterConfig TinyConfig() {
  DrafterConfig config = SmallDrafterConfig();
  config.hidden_size = config.target_hidden_size = 8;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 4;
  config.intermediate_size = 8;
  config.vocab_size = 31;
  config.mask_token_id = 30;
  config.target_layer_ids = {1};
  return config;
}

SessionLimits TinyLimits() {
  return {.max_batch = 3, .max_context = 40, .ctx_window = 16, .gamma = 8};
}

StatusOr<SessionPlan> PlanOf(const DrafterConfig& config) {
  return PlanSession(config, {}, TinyLimits(), {.cache_element_bytes = sizeof(double)});
}

// Memory between red zones, counted.
class Watched {
 public:
  Allocator& allocator() { return allocator_; }
  CheckingAllocator& checking() { return checking_; }
  SoakProbe Probe() {
    return {.canaries = [this] { return checking_.Check({}); },
            .live_bytes = [this] { return ledger_.Total().live_bytes; }};
  }

 private:
  HostAllocator host_;
  CheckingAllocator checking_{host_, {.zone_bytes = 512}};
  Ledger ledger_;
  LedgerAllocator allocator_{checking_, ledger_};
};

TEST(SoakTest, TwentyThousandProposesOfTheReference) {
  const DrafterConfig config = TinyConfig();
  const auto weights = RandomWeights(config, 3);
  Watched memory;
  reference::ReferenceOptions options;
  options.allocator = &memory.allocator();
  DM_ASSERT_OK_AND_ASSIGN(
      auto session,
      reference::OpenReferenceSession(config, weights, TinyLimits(), Precision::kBf16, options));
  DM_ASSERT_OK_AND_ASSIGN(const SessionPlan plan, PlanOf(config));
  RandomDriver driver(config, TinyLimits(), plan, 3);
  SoakProbe probe = memory.Probe();
  // Whatever has happened, a session that gets the same rows at once gives the same.
  probe.compare = [&](const DraftStep& step, const std::vector<BlockResult>& results) -> Status {
    for (std::size_t b = 0; b < step.requests.size(); ++b) {
      DM_ASSIGN_OR_RETURN(const auto fresh, reference::OpenReferenceSession(
                                                config, weights, TinyLimits(), Precision::kBf16));
      DM_RETURN_IF_ERROR(driver.AppendHistory(step.requests[b].band, *fresh));
      BlockRequest request = step.requests[b];
      request.band = 0;
      DM_ASSIGN_OR_RETURN(const auto expected, fresh->Propose({&request, 1}, nullptr));
      if (expected[0].draft_tokens != results[b].draft_tokens ||
          expected[0].margin != results[b].margin) {
        return InternalError("not what a fresh session with the same rows gives");
      }
    }
    return OkStatus();
  };
  DM_ASSERT_OK_AND_ASSIGN(const SoakReport report, RunSoak(*session, driver, SoakPlan(), probe));
  EXPECT_EQ(report.proposes, 20'000u);
  EXPECT_GE(report.blocks, 30'000u);
  EXPECT_GE(report.slides, 1000u);
  EXPECT_GE(report.resets, 500u);
  EXPECT_EQ(report.checks, 200u);
  EXPECT_EQ(report.compared, 40u);
  EXPECT_GT(report.live_bytes, 0u);
  session.reset();
  EXPECT_THAT(memory.checking().Check({}), IsOk());
  EXPECT_EQ(probe.live_bytes(), 0u);
  std::cout << report.blocks << " blocks, " << report.appended_rows << " rows appended, "
            << report.slides << " slides, " << report.resets << " resets\n";
}

// Keeps a number of each step in a buffer for 11,000 of them, and does not look where it ends.
class CountingSession final : public DraftSession {
 public:
  CountingSession(std::byte* buffer, Allocator* leaks_into) : buffer_(buffer), leaks_(leaks_into) {}
  Status AppendContext(std::size_t, std::span<const BFloat16>,
                       std::span<const std::int32_t>) override {
    return OkStatus();
  }
  Status DropFront(std::size_t, std::uint64_t) override { return OkStatus(); }
  Status Reset(std::size_t) override { return OkStatus(); }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink*) override {
    if (buffer_ != nullptr) buffer_[step_] = static_cast<std::byte>(step_ % 251);
    ++step_;
    if (leaks_ != nullptr && step_ > 11'000) {
      DM_RETURN_IF_ERROR(leaks_->Allocate({.bytes = 1, .tag = "leak"}).status());
      leaks_ = nullptr;
    }
    return std::vector<BlockResult>(requests.size());
  }

 private:
  std::byte* const buffer_;
  Allocator* leaks_;
  std::size_t step_ = 0;
};

TEST(PublicFailures, CumulativeOutOfBoundsWriteAfter11000Steps) {
  const DrafterConfig config = TinyConfig();
  DM_ASSERT_OK_AND_ASSIGN(const SessionPlan plan, PlanOf(config));
  const auto soak = [&](std::uint64_t steps) -> Status {
    Watched memory;
    DM_ASSIGN_OR_RETURN(const DeviceAddress buffer,
                        memory.allocator().Allocate({.bytes = 11'000, .tag = "statistics"}));
    CountingSession session(static_cast<std::byte*>(buffer.value), nullptr);
    RandomDriver driver(config, TinyLimits(), plan, 3);
    DM_RETURN_IF_ERROR(RunSoak(session, driver, {.steps = steps}, memory.Probe()).status());
    return memory.allocator().Free(buffer);
  };
  // Shorter runs never see it.
  EXPECT_THAT(soak(11'000), IsOk());
  EXPECT_THAT(soak(20'000),
              StatusIs(StatusCode::kInternal,
                       AllOf(HasSubstr("between steps 11000 and 11100"), HasSubstr("statistics"))));
}

TEST(SoakTest, MemoryThatGrowsIsFound) {
  const DrafterConfig config = TinyConfig();
  DM_ASSERT_OK_AND_ASSIGN(const SessionPlan plan, PlanOf(config));
  Watched memory;
  DM_ASSERT_OK_AND_ASSIGN(const DeviceAddress buffer,
                          memory.allocator().Allocate({.bytes = 64, .tag = "session"}));
  CountingSession session(nullptr, &memory.allocator());
  RandomDriver driver(config, TinyLimits(), plan, 3);
  EXPECT_THAT(
      RunSoak(session, driver, SoakPlan(), memory.Probe()),
      StatusIs(StatusCode::kInternal,
               HasSubstr("between steps 11000 and 11100: expected 64 live bytes, found 65")));
  EXPECT_THAT(memory.allocator().Free(buffer), IsOk());
}

}  // namespace
}  // namespace draftmark
