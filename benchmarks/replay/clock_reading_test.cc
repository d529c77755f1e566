#include "benchmarks/replay/clock_reading.h"

#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(ClockHertz, IsTheMedianOverSmsThatAreInBoth) {
  const std::vector<ClockReading> before = {{0, 0}, {1000, 5000}, {2000, 5000}, {77, 5000}, {1, 1}};
  std::vector<ClockReading> behind = {{9, 900'000},
                                      {1000 + 400'000, 205'000},
                                      {2000 + 396'000, 205'000},
                                      {77 + 100'000, 205'000},
                                      {0, 0}};
  // 2, 1.98 and 0.5 GHz.
  EXPECT_DOUBLE_EQ(ClockHertz(before, behind).value(), 1.98e9);
  behind.resize(2);
  EXPECT_DOUBLE_EQ(ClockHertz(before, behind).value(), 2e9);
}

TEST(ClockHertz, IsUnknownWhereTheReadingsSayTooLittle) {
  EXPECT_FALSE(ClockHertz({}, {}).has_value());
  const std::vector<ClockReading> before = {{1000, 5000}};
  const auto at = [&](std::uint64_t cycles, std::uint64_t nanoseconds) {
    return ClockHertz(before, std::vector<ClockReading>{{cycles, nanoseconds}});
  };
  EXPECT_FALSE(at(0, 0).has_value());              // the SM had no block
  EXPECT_FALSE(at(900'000, 104'999).has_value());  // 99.999 us
  EXPECT_TRUE(at(900'000, 105'000).has_value());
  EXPECT_FALSE(at(1000, 205'000).has_value());  // a counter that stood still
  EXPECT_FALSE(at(999, 205'000).has_value());   // or was reset
}

}  // namespace
}  // namespace draftmark
