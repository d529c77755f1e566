// Drafters whose widths streaming chains take (multiples of 64; the other variants' are none), on the
// fast path against the simple one, by graph against launches kernel by kernel, and with stages (where
// every step is a launch of its own) against without. Where the device has no chains both paths are the
// same, and the test says little.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/testing/random_driver.h"
#include "src/compare/comparison.h"
#include "src/compare/ulp.h"

namespace draftmark::kernels {
namespace {

class ChainPathTest : public DraftTest, public ::testing::WithParamInterface<std::string> {
 protected:
  // Two bands of up to 8 rows are no more than a chain takes.
  static constexpr std::uint64_t kBands = 2;

  // T4's bounds (spec/drafter.md section 10).
  static void ExpectNear(const Stages& expected, const Stages& got) {
    ASSERT_EQ(expected.size(), got.size());
    for (const auto& [key, values] : expected) {
      const auto found = got.find(key);
      ASSERT_TRUE(found != got.end()) << key.second;
      ASSERT_EQ(found->second.size(), values.size()) << key.second;
      const bool layer = key.second.ends_with(".output");
      if (!layer && key.second != "logits") continue;
      const Comparison c = Compare({values.size()}, values, found->second, UlpUnit::kBf16);
      EXPECT_LE(c.relative_l2, layer ? 2e-2 : 2.5e-2) << key.second << " " << DescribeWorst(c);
    }
  }

  void ExpectGraphsAndStagesGiveTheSame(const SessionLimits& limits);
};
INSTANTIATE_TEST_SUITE_P(Variants, ChainPathTest, ::testing::ValuesIn(DraftVariantNames()),
                         [](const auto& run) { return run.param; });

TEST_P(ChainPathTest, IsNearTheSimplePath) {
  const DraftVariant variant = WideDraftVariantOf(GetParam());
  for (const std::uint64_t version : {1, 2}) {
    const SessionLimits limits = SmallLimits(version == 1 ? 1 : kBands);
    const auto fast =
        Open(variant, limits, {.scratch_version = version, .fast = true}, Products::kOwn);
    const auto simple =
        Open(variant, limits, {.scratch_version = version, .fast = false}, Products::kOwn);
    std::int32_t rows = 0;
    for (const std::int32_t more : {9, 3, 16}) {
      for (CudaDraftSession* const session : {fast.get(), simple.get()}) {
        ASSERT_THAT(AppendRows(*session, variant.config, 0, 3, rows, more), IsOk());
      }
      rows += more;
      const std::vector<BlockRequest> block = {Block(variant.config, 0, 5, rows, 7)};
      SCOPED_TRACE("version " + std::to_string(version) + ", rows " + std::to_string(rows));
      ExpectNear(StagesOf(*simple, block), StagesOf(*fast, block));
    }
  }
}

void ChainPathTest::ExpectGraphsAndStagesGiveTheSame(const SessionLimits& limits) {
  const DraftVariant variant = WideDraftVariantOf(GetParam());
  const auto graphs = Open(variant, limits, {.fast = true}, Products::kOwn);
  const auto eager = Open(variant, limits, {.graphs = false, .fast = true}, Products::kOwn);
  const auto staged = Open(variant, limits, {.graphs = false, .fast = true}, Products::kOwn);
  for (const auto* const session : {&graphs, &eager, &staged}) ClearPools(**session);
  RandomDriver driver(variant.config, limits, graphs->plan(), 17);
  for (int i = 0; i < 100; ++i) {
    const DraftStep& step = driver.Next();
    SCOPED_TRACE("step " + std::to_string(i));
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> expected, RunStep(*eager, step));
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> got, RunStep(*graphs, step));
    ASSERT_EQ(DifferenceOf(expected, got), "");
    ASSERT_THAT(ApplyChanges(*staged, step), IsOk());
    StageCollector collector;
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> shown,
                            staged->Propose(step.requests, &collector));
    ASSERT_EQ(DifferenceOf(expected, shown), "");
  }
  EXPECT_TRUE(PoolBytes(*eager) == PoolBytes(*graphs));
  EXPECT_TRUE(PoolBytes(*eager) == PoolBytes(*staged));
}

TEST_P(ChainPathTest, GraphsAndStagesGiveTheSame) {
  ExpectGraphsAndStagesGiveTheSame(SmallLimits(kBands));
}

// With room for the slots of a pass and of a block side by side: chains of 16 rows with a pass of 8, 16 or 17 rows.
TEST_P(ChainPathTest, GraphsAndStagesOfLongBlocksGiveTheSame) {
  ExpectGraphsAndStagesGiveTheSame(
      {.max_batch = 1, .max_context = 70, .ctx_window = 64, .gamma = 16});
}

// From two threads, and in turns from one: chains of two sessions at once would wait for each other for ever.
TEST_P(ChainPathTest, TwoSessionsTakeTurns) {
  constexpr int kSteps = 200;
  const DraftVariant variant = WideDraftVariantOf(GetParam());
  const SessionLimits limits = SmallLimits(kBands);
  std::unique_ptr<CudaDraftSession> sessions[3];
  for (auto& session : sessions) {
    session = Open(variant, limits, {.fast = true}, Products::kOwn);
    ClearPools(*session);
    // What threads would do at the same time is proposing, not loading kernels.
    for (std::uint64_t width = 2; width <= limits.gamma; ++width) {
      for (std::uint64_t bands = 1; bands <= kBands; ++bands) {
        ASSERT_THAT(session->Prepare(width, bands), IsOk());
      }
    }
  }
  const auto run = [&](CudaDraftSession& session, std::uint64_t seed) {
    RandomDriver driver(variant.config, limits, session.plan(), seed);
    std::vector<BlockResult> all;
    for (int i = 0; i < kSteps; ++i) {
      const StatusOr<std::vector<BlockResult>> results = RunStep(session, driver.Next());
      EXPECT_THAT(results, IsOk());
      if (!results.ok()) break;
      all.insert(all.end(), results->begin(), results->end());
    }
    return all;
  };
  const std::vector<BlockResult> alone = run(*sessions[2], 23);
  std::vector<BlockResult> together[2];
  {
    std::jthread other([&] { together[1] = run(*sessions[1], 23); });
    together[0] = run(*sessions[0], 23);
  }
  EXPECT_EQ(DifferenceOf(alone, together[0]), "");
  EXPECT_EQ(DifferenceOf(alone, together[1]), "");
  EXPECT_TRUE(PoolBytes(*sessions[2]) == PoolBytes(*sessions[0]));
  EXPECT_TRUE(PoolBytes(*sessions[2]) == PoolBytes(*sessions[1]));
}

}  // namespace
}  // namespace draftmark::kernels
