#include "src/base/clock.h"

#include <ctime>

#include "gtest/gtest.h"
#include "src/base/fake_clock.h"

namespace draftmark {
namespace {

using std::chrono::year_month_day;

// The C library's idea of the same thing.
year_month_day TodayByLibc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  return {std::chrono::year(utc.tm_year + 1900),
          std::chrono::month(static_cast<unsigned>(utc.tm_mon) + 1),
          std::chrono::day(static_cast<unsigned>(utc.tm_mday))};
}

TEST(ClockTest, RealClockShowsTheDayInUtc) {
  const year_month_day before = TodayByLibc();
  const year_month_day today = RealClock().Today();
  EXPECT_LE(before, today);
  EXPECT_LE(today, TodayByLibc());
}

TEST(ClockTest, FakeClockShowsItsDay) {
  EXPECT_EQ(FakeClock(2026, 2, 28).Today(), std::chrono::year(2026) / 2 / 28);
}

}  // namespace
}  // namespace draftmark
