#include "benchmarks/launch_plan.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A small linear layer on an H200.
LaunchFacts Facts() {
  return {.traffic = {.read = 30 * kMiB, .written = 2 * kMiB},
          .operand_bytes = 33 * kMiB,
          .workspace_bytes = kMiB,
          .l2_bytes = 60 * kMiB,
          .memory_bytes = 16384 * kMiB};
}

TEST(LaunchPlan, ColdLaunchesHaveCopiesAndASweepOfTwiceTheCache) {
  DM_ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, PlanLaunches(Facts(), CacheState::kCold));
  EXPECT_EQ(plan.copies, 16u);  // 512 MiB of traffic
  EXPECT_EQ(plan.launches_per_copy, 1u);
  EXPECT_EQ(plan.launches(), 16u);
  EXPECT_EQ(plan.sweep_bytes, 120 * kMiB);
  EXPECT_GE(plan.reuse_bytes, 2 * Facts().l2_bytes);
}

TEST(LaunchPlan, CopiesHaveLimits) {
  LaunchFacts small = Facts();
  small.traffic = {.read = 1000, .written = 24};
  EXPECT_EQ(PlanLaunches(small, CacheState::kCold)->copies, kMostLaunches);
  small.traffic = {};
  EXPECT_EQ(PlanLaunches(small, CacheState::kCold)->copies, kMostLaunches);
  LaunchFacts large = Facts();
  large.traffic.read = 600 * kMiB;
  EXPECT_EQ(PlanLaunches(large, CacheState::kCold)->copies, 1u);
  // A table of which few rows are read.
  LaunchFacts table = small;
  table.operand_bytes = 5000 * kMiB;
  EXPECT_EQ(PlanLaunches(table, CacheState::kCold)->copies, 3u);
  table.operand_bytes = table.memory_bytes + 1;
  EXPECT_THAT(PlanLaunches(table, CacheState::kCold).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("may be used")));
}

TEST(LaunchPlan, ColdIsRefusedWithoutACacheSize) {
  LaunchFacts facts = Facts();
  facts.l2_bytes = 0;
  EXPECT_THAT(PlanLaunches(facts, CacheState::kCold).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not cold")));
}

TEST(LaunchPlan, WarmIsWhatFitsHalfOfTheCache) {
  LaunchFacts facts = Facts();
  facts.operand_bytes = 29 * kMiB;
  DM_ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, PlanLaunches(facts, CacheState::kWarm));
  EXPECT_EQ(plan.copies, 1u);
  EXPECT_EQ(plan.launches(), kMostLaunches);
  EXPECT_EQ(plan.sweep_bytes, 0u);
  EXPECT_EQ(plan.reuse_bytes, 0u);
  facts.operand_bytes += 1;
  EXPECT_THAT(PlanLaunches(facts, CacheState::kWarm).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not warm")));
}

TEST(LaunchPlan, TheLeastTimeCountsReadsAndWhatTheCacheCannotHold) {
  const LaunchFacts facts = Facts();
  const LaunchPlan plan = PlanLaunches(facts, CacheState::kCold).value();
  // 16 copies: 480 MiB read, 32 MiB written, which may all stay in the cache.
  EXPECT_DOUBLE_EQ(LeastReplaySeconds(facts, plan, 480.0 * kMiB), 1);
  LaunchFacts writer = facts;
  writer.traffic = {.read = 10 * kMiB, .written = 22 * kMiB};
  // 160 read, 352 written less 60.
  EXPECT_DOUBLE_EQ(LeastReplaySeconds(writer, plan, 452.0 * kMiB), 1);
  EXPECT_EQ(LeastReplaySeconds(facts, plan, 0), 0);
  // In the cache no bandwidth of the memory is a limit.
  LaunchPlan warm;
  warm.launches_per_copy = 64;
  EXPECT_EQ(LeastReplaySeconds(facts, warm, 1), 0);
}

}  // namespace
}  // namespace draftmark
