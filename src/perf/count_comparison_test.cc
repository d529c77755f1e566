#include "src/perf/count_comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace draftmark {
namespace {

CountRanges Ranges(const std::vector<std::map<std::string, std::uint64_t>>& runs) {
  CountRanges ranges;
  for (const auto& run : runs) AddCounts(run, ranges);
  return ranges;
}

std::string Lines(const CountRanges& base, const CountRanges& next) {
  return CountLines("draft/a", CompareCountRanges(base, next));
}

TEST(CountComparisonTest, AnyIncreaseIsLarger) {
  const CountRanges base = Ranges({{{"launches", 24}, {"peak_bytes", 4503599627370496}}});
  const CountRanges next = Ranges({{{"launches", 24}, {"peak_bytes", 4503599627370497}}});
  const std::vector<CountComparison> up = CompareCountRanges(base, next);
  ASSERT_EQ(up.size(), 2u);
  EXPECT_EQ(up[0].counter, "launches");
  EXPECT_FALSE(up[0].Larger());
  EXPECT_FALSE(up[0].Smaller());
  EXPECT_TRUE(up[1].Larger());
  EXPECT_FALSE(up[1].Smaller());
  EXPECT_EQ(Lines(base, next),
            "LARGER draft/a: peak_bytes: expected 4503599627370496 as in BASE, found "
            "4503599627370497 (+1)\n");
  EXPECT_EQ(Lines(next, base),
            "SMALLER draft/a: peak_bytes: expected 4503599627370497 as in BASE, found "
            "4503599627370496 (-1)\n");
  EXPECT_EQ(Lines(base, base), "");
}

TEST(CountComparisonTest, FromNothingToSomethingIsLarger) {
  EXPECT_EQ(Lines(Ranges({{{"allocations", 0}}}), Ranges({{{"allocations", 2}}})),
            "LARGER draft/a: allocations: expected 0 as in BASE, found 2 (+2)\n");
}

// One run of ten that launches more is as wrong as all of them.
TEST(CountComparisonTest, TheLargestOfASidesRunsCounts) {
  const CountRanges base = Ranges({{{"launches", 24}}, {{"launches", 24}}, {{"launches", 24}}});
  const CountRanges next = Ranges({{{"launches", 24}}, {{"launches", 26}}, {{"launches", 23}}});
  EXPECT_EQ(Lines(base, next),
            "LARGER draft/a: launches: expected 24 as in BASE, found 26 (+2); runs of NEW differ: "
            "23 to 26\n");
  const std::string same = Lines(next, next);
  EXPECT_EQ(same,
            "COUNT draft/a: launches: expected 26 as in BASE, found 26; runs of BASE differ: 23 to "
            "26; runs of NEW differ: 23 to 26\n");
  EXPECT_FALSE(CompareCountRanges(next, next)[0].Larger());
}

TEST(CountComparisonTest, WhatOneSideCountsIsSaid) {
  const CountRanges base = Ranges({{{"launches", 24}}});
  const CountRanges next = Ranges({{{"memory_cache", 5}}, {{"memory_cache", 7}}});
  const std::vector<CountComparison> compared = CompareCountRanges(base, next);
  ASSERT_EQ(compared.size(), 2u);
  for (const CountComparison& count : compared) {
    EXPECT_FALSE(count.Larger());
    EXPECT_FALSE(count.Smaller());
  }
  EXPECT_TRUE(compared[0].Missing());
  EXPECT_FALSE(compared[1].Missing());
  EXPECT_EQ(Lines(base, next),
            "MISSING draft/a: launches: 24, only in BASE\n"
            "COUNT draft/a: memory_cache: 5 to 7, only in NEW\n");
}

}  // namespace
}  // namespace draftmark
