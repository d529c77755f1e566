#include "src/perf/run_order.h"

#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(RunOrderTest, EachOnceAndAsTheSeedSays) {
  EXPECT_THAT(ShuffledOrder(0, 1), ElementsAre());
  EXPECT_THAT(ShuffledOrder(1, 1), ElementsAre(0));
  EXPECT_THAT(ShuffledOrder(5, 1), UnorderedElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(ShuffledOrder(50, 7), ShuffledOrder(50, 7));
  EXPECT_NE(ShuffledOrder(50, 7), ShuffledOrder(50, 8));
}

// 24 orders of four, 1,000 expected each; 150 is almost five standard deviations.
TEST(RunOrderTest, EveryOrderIsEquallyLikely) {
  std::map<std::vector<std::size_t>, int> seen;
  for (std::uint64_t seed = 0; seed < 24000; ++seed) ++seen[ShuffledOrder(4, seed)];
  EXPECT_EQ(seen.size(), 24u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace draftmark
