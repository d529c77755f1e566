// Graphs against launches kernel by kernel, in lock-step over random histories, and sessions with a
// history against such that get it at once (spec/drafter.md sections 3, 8 and 9).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/testing/random_driver.h"

namespace draftmark::kernels {
namespace {

class ReplayTest : public DraftTest, public ::testing::WithParamInterface<std::string> {
 protected:
  struct Plan {
    std::uint64_t version = 2;
    std::uint64_t bands = 3;
    Products products = Products::kLibrary;
    int steps = 1000;
    std::uint64_t seed = 1;
  };

  void RunInLockStep(const Plan& plan) {
    const DraftVariant variant = DraftVariantOf(GetParam());
    const SessionLimits limits = SmallLimits(plan.bands);
    const auto graphs = Open(variant, limits, {.scratch_version = plan.version}, plan.products);
    const auto eager =
        Open(variant, limits, {.scratch_version = plan.version, .graphs = false}, plan.products);
    ClearPools(*graphs);
    ClearPools(*eager);
    RandomDriver driver(variant.config, limits, graphs->plan(), plan.seed);
    for (int i = 0; i < plan.steps; ++i) {
      const DraftStep& step = driver.Next();
      DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> expected, RunStep(*eager, step));
      DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, RunStep(*graphs, step));
      ASSERT_EQ(DifferenceOf(expected, got), "") << "step " << i;
      ASSERT_EQ(got.size(), step.requests.size());
      if (i % 100 == 99) {
        ASSERT_TRUE(PoolBytes(*eager) == PoolBytes(*graphs)) << "K/V pools at step " << i;
      }
    }
    EXPECT_TRUE(PoolBytes(*eager) == PoolBytes(*graphs)) << "K/V pools at the end";
    const auto steps = static_cast<std::uint64_t>(plan.steps);
    EXPECT_EQ(graphs->replays(), steps);
    EXPECT_EQ(graphs->eager_runs(), 0u);
    EXPECT_EQ(eager->replays(), 0u);
    EXPECT_EQ(eager->eager_runs(), steps);
  }
};
INSTANTIATE_TEST_SUITE_P(Variants, ReplayTest, ::testing::ValuesIn(DraftVariantNames()),
                         [](const auto& run) { return run.param; });

TEST_P(ReplayTest, AThousandRandomProposes) { RunInLockStep({}); }

TEST_P(ReplayTest, OwnKernels) {
  RunInLockStep({.products = Products::kOwn, .steps = 200, .seed = 2});
}

TEST_P(ReplayTest, ScratchVersion1) {
  RunInLockStep({.version = 1, .bands = 1, .steps = 300, .seed = 3});
}

// Few enough for compute-sanitizer.
TEST_P(ReplayTest, FewSteps) { RunInLockStep({.steps = 8, .seed = 4}); }

class HistoryTest : public DraftTest, public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Variants, HistoryTest, ::testing::ValuesIn(DraftVariantNames()),
                         [](const auto& run) { return run.param; });

// Own kernels compute a row the same whatever other rows there are, and every other kernel does
// anyway: a band with whatever history, among whatever neighbours, gives the bits of a session that
// has one band and got the same rows at once.
TEST_P(HistoryTest, AFreshSessionGivesTheSameBits) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  const SessionLimits limits = SmallLimits();
  const auto session = Open(variant, limits, {}, Products::kOwn);
  RandomDriver driver(variant.config, limits, session->plan(), 11);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    const DraftStep& step = driver.Next();
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, RunStep(*session, step));
    if (i % 4 != 3) continue;
    for (std::size_t b = 0; b < step.requests.size(); ++b) {
      const auto fresh = Open(variant, SmallLimits(1), {.graphs = false}, Products::kOwn);
      ASSERT_THAT(driver.AppendHistory(step.requests[b].band, *fresh), IsOk());
      BlockRequest request = step.requests[b];
      request.band = 0;
      DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> expected,
                              fresh->Propose({&request, 1}, nullptr));
      ASSERT_EQ(DifferenceOf(expected, {&got[b], 1}), "")
          << "step " << i << ", band " << step.requests[b].band;
      ++compared;
    }
  }
  EXPECT_GE(compared, 15);
}

// cuBLASLt may choose another algorithm for another number of rows, and attention another place to
// split its keys at, whose sums differ in their last bits (T1, T2). A token may differ only where
// its margin is small, and so may those that follow it. Logits are about normal with variance 1, in
// rows of norm 10: all of T4's 1.5e-2 in one element would move it by 0.15, and a margin by at most
// twice that; it spreads over 104 of them.
constexpr double kSafeMargin = 0.25;

// `expected` has margins. Returns how many tokens were compared.
int ExpectTheSafeTokens(const BlockResult& expected, const BlockResult& got) {
  EXPECT_EQ(expected.margin.size(), expected.draft_tokens.size());
  EXPECT_EQ(got.draft_tokens.size(), expected.draft_tokens.size());
  int compared = 0;
  for (std::size_t j = 0; j < std::min(expected.margin.size(), got.draft_tokens.size()); ++j) {
    if (expected.margin[j] <= kSafeMargin) break;
    EXPECT_EQ(got.draft_tokens[j], expected.draft_tokens[j])
        << "draft " << j << ", margin " << expected.margin[j];
    ++compared;
  }
  return compared;
}

TEST_P(HistoryTest, AFreshSessionGivesTheSameTokensByTheLibrary) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  const SessionLimits limits = SmallLimits();
  const auto session = Open(variant, limits);
  RandomDriver driver(variant.config, limits, session->plan(), 12);
  int compared = 0;
  for (int i = 0; i < 80; ++i) {
    const DraftStep& step = driver.Next();
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, RunStep(*session, step));
    if (i % 4 != 3) continue;
    for (std::size_t b = 0; b < step.requests.size(); ++b) {
      const auto fresh = Open(variant, SmallLimits(1), {.graphs = false});
      ASSERT_THAT(driver.AppendHistory(step.requests[b].band, *fresh), IsOk());
      BlockRequest request = step.requests[b];
      request.band = 0;
      StageCollector margins;
      DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> expected,
                              fresh->Propose({&request, 1}, &margins));
      SCOPED_TRACE("step " + std::to_string(i) + ", band " + std::to_string(step.requests[b].band));
      compared += ExpectTheSafeTokens(expected.front(), got[b]);
    }
  }
  // Of some forty blocks; the reference finds about one such draft in each.
  EXPECT_GE(compared, 10);
}

// Two ways to the same masks: by positions in a table of cache slots, and by those of the rows
// themselves. Histories have gaps, and windows slide.
TEST_P(HistoryTest, ASessionWithoutACacheGivesTheSame) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  SessionLimits limits = SmallLimits(1);
  limits.ctx_window = limits.max_context;  // the row buffers hold the whole context
  const auto paged = Open(variant, limits, {.graphs = false}, Products::kOwn);
  const auto contiguous = Open(variant, limits, {.paged = false}, Products::kOwn);
  RandomDriver driver(variant.config, limits, paged->plan(), 13);
  int compared = 0;
  for (int i = 0; i < 100; ++i) {
    const DraftStep& step = driver.Next();
    ASSERT_THAT(ApplyChanges(*paged, step), IsOk());
    StageCollector margins;
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> expected,
                            paged->Propose(step.requests, &margins));
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, RunStep(*contiguous, step));
    SCOPED_TRACE("step " + std::to_string(i));
    compared += ExpectTheSafeTokens(expected.front(), got.front());
    // Without a window both split the keys at the same places.
    if (!variant.config.sliding_window.has_value()) {
      ASSERT_EQ(DifferenceOf(expected, got), "");
    }
  }
  EXPECT_GE(compared, 25);
}

}  // namespace
}  // namespace draftmark::kernels
