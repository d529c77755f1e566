#include "benchmarks/memory_bandwidth.h"

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(MemoryBandwidthTest, IsClockTimesWidthTimesTwo) {
  EXPECT_DOUBLE_EQ(TheoreticalBytesPerSecond(3201000, 6144).value(), 4.916736e12);  // H200
  EXPECT_DOUBLE_EQ(TheoreticalBytesPerSecond(1, 8).value(), 2000);
}

TEST(MemoryBandwidthTest, IsUnknownWhereTheDriverDoesNotTell) {
  EXPECT_FALSE(TheoreticalBytesPerSecond(0, 6144).has_value());
  EXPECT_FALSE(TheoreticalBytesPerSecond(3201000, 0).has_value());
  EXPECT_FALSE(TheoreticalBytesPerSecond(-1, 6144).has_value());
}

TEST(PeakBf16Flops, IsKnownForHopper) {
  EXPECT_NEAR(PeakBf16FlopsPerSecond(9, 0, 132, 1830000).value(), 989e12, 1e12);
  EXPECT_FALSE(PeakBf16FlopsPerSecond(8, 0, 108, 1410000).has_value());
  EXPECT_FALSE(PeakBf16FlopsPerSecond(9, 0, 132, 0).has_value());
  EXPECT_FALSE(PeakBf16FlopsPerSecond(9, 0, 0, 1830000).has_value());
}

}  // namespace
}  // namespace draftmark
