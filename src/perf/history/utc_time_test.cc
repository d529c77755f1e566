#include "src/perf/history/utc_time.h"

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(UtcTimeTest, ThereAndBack) {
  EXPECT_EQ(FormatUtc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatUtc(1796005457), "2026-11-30T02:24:17Z");
  EXPECT_EQ(FormatUtc(kLatestTime), "9999-12-31T23:59:59Z");
  for (const std::int64_t time : {std::int64_t{0}, std::int64_t{951782400}, kLatestTime}) {
    EXPECT_EQ(ParseUtc(FormatUtc(time)), time);
  }
  EXPECT_EQ(ParseUtc("2024-02-29T12:00:00Z"), 1709208000);
}

TEST(UtcTimeTest, Offsets) {
  EXPECT_EQ(ParseUtc("2026-11-30T03:24:17+01:00"), 1796005457);
  EXPECT_EQ(ParseUtc("2026-11-29T20:54:17-05:30"), 1796005457);
  EXPECT_EQ(ParseUtc("2026-11-30T02:24:17+00:00"), 1796005457);
}

TEST(UtcTimeTest, WhatIsNoTime) {
  for (const char* const text :
       {"", "2026-11-30", "2026-11-30T02:24:17", "2026-11-30 02:24:17Z", "2026-11-31T02:24:17Z",
        "2025-02-29T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T02:60:17Z",
        "2026-11-30T02:24:60Z", "2026-11-30T02:24:17z", "2026-11-30T02:24:17+1:00",
        "2026-11-30T02:24:17Zx", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00",
        "+026-11-30T02:24:17Z"}) {
    EXPECT_FALSE(ParseUtc(text).has_value()) << text;
  }
}

TEST(UtcTimeTest, Nights) {
  EXPECT_EQ(NightOf(1796005457), "2026-11-30");
  EXPECT_EQ(DayOfNight("1970-01-02"), 1);
  EXPECT_EQ(NightOfDay(DayOfNight("2026-11-30").value()), "2026-11-30");
  for (const char* const text : {"", "2026-13-01", "2026-00-01", "2026-1-01", "1969-01-01"}) {
    EXPECT_FALSE(DayOfNight(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace draftmark
