#include "src/perf/dashboard/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace draftmark {
namespace {

TEST(FiguresTest, Texts) {
  EXPECT_EQ(SecondsText(1.2345678e-5), "12.35 µs");
  EXPECT_EQ(SecondsText(0.00104), "1.04 ms");
  EXPECT_EQ(SecondsText(3.2e-8), "32 ns");
  EXPECT_EQ(SecondsText(2.5), "2.5 s");
  EXPECT_EQ(SecondsText(std::nan("")), "–");
  EXPECT_EQ(ChangeText(0.0312), "+3.1 %");
  EXPECT_EQ(ChangeText(-0.05), "−5.0 %");
  EXPECT_EQ(ChangeText(-0.0001), "+0.0 %");
  EXPECT_EQ(ChangeText(std::numeric_limits<double>::infinity()), "–");
  EXPECT_EQ(ShareText(0.742), "74.2 %");
  EXPECT_EQ(BytesText(0), "0");
  EXPECT_EQ(BytesText(999), "999");
  EXPECT_EQ(BytesText(1000), "1,000");
  EXPECT_EQ(BytesText(17234588), "17,234,588");
  EXPECT_EQ(BytesText(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(FiguresTest, Times) {
  EXPECT_EQ(TimeText(1796005457), "2026-11-30 02:24");
  EXPECT_EQ(IsoTimeText(1796005457), "2026-11-30T02:24:17Z");
  EXPECT_EQ(DayText(1796005457), "2026-11-30");
  EXPECT_EQ(DayText(-5), "1970-01-01");  // no time of a measurement
  EXPECT_EQ(DayText(std::numeric_limits<std::int64_t>::max()), "9999-12-31");
}

TEST(FiguresTest, ArchitecturesByNumber) {
  std::vector<std::string> names = {"sm_120", "cpu", "sm_90", "sm_100", "", "sm_80", "120"};
  std::sort(names.begin(), names.end(), ArchitectureLess);
  EXPECT_EQ(names,
            (std::vector<std::string>{"", "120", "cpu", "sm_80", "sm_90", "sm_100", "sm_120"}));
}

TEST(FiguresTest, SeverityPutsTheWorstFirst) {
  EXPECT_GT(Severity(Verdict::kSlower), Severity(Verdict::kInvalid));
  EXPECT_GT(Severity(Verdict::kInvalid), Severity(Verdict::kUnclear));
  EXPECT_GT(Severity(Verdict::kUnclear), Severity(Verdict::kFaster));
  EXPECT_GT(Severity(Verdict::kFaster), Severity(Verdict::kSame));
}

// Half of the chi-square quantiles at 95 %, as statistics tables have them.
TEST(FiguresTest, PoissonUpperBound) {
  EXPECT_NEAR(PoissonUpperBound(0), 2.9957, 1e-4);
  EXPECT_NEAR(PoissonUpperBound(1), 4.7439, 1e-4);
  EXPECT_NEAR(PoissonUpperBound(10), 16.9622, 1e-4);
  EXPECT_NEAR(PoissonUpperBound(1000), 1053.6, 1);
}

}  // namespace
}  // namespace draftmark
