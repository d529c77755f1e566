#include "src/perf/nightly_alarm.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

// 30 nights about 100 whose MAD is `mad`.
std::vector<double> Nights(double mad) {
  std::vector<double> nights;
  for (int i = 0; i < 10; ++i) nights.insert(nights.end(), {100 - mad, 100, 100 + mad});
  return nights;
}

TEST(NightlyAlarmTest, TheFloorOf15InAThousand) {
  const std::vector<double> nights = Nights(0.1);  // below the least MAD of 0.2 %
  const NightJudgement same = JudgeNight(nights, 101.49);
  EXPECT_EQ(same.verdict, Verdict::kSame);
  EXPECT_EQ(same.nights, 30u);
  EXPECT_EQ(same.baseline, 100);
  EXPECT_NEAR(same.ratio, 1.0149, 1e-12);
  EXPECT_EQ(same.threshold, 0.015);
  EXPECT_EQ(JudgeNight(nights, 101.51).verdict, Verdict::kSlower);
  EXPECT_EQ(JudgeNight(nights, 98.49).verdict, Verdict::kFaster);
  EXPECT_EQ(JudgeNight(nights, 98.51).verdict, Verdict::kSame);
}

TEST(NightlyAlarmTest, FourSigmaOfTheLastNights) {
  const std::vector<double> nights = Nights(0.5);
  EXPECT_NEAR(JudgeNight(nights, 100).threshold, 4 * 1.4826 * 0.005, 1e-12);  // 2.97 %
  EXPECT_EQ(JudgeNight(nights, 102.9).verdict, Verdict::kSame);
  EXPECT_EQ(JudgeNight(nights, 103).verdict, Verdict::kSlower);
}

TEST(NightlyAlarmTest, ACasesOwnFloor) {
  EXPECT_EQ(JudgeNight(Nights(0.1), 103.9, 0.04).verdict, Verdict::kSame);
  EXPECT_EQ(JudgeNight(Nights(0.1), 104.1, 0.04).verdict, Verdict::kSlower);
}

TEST(NightlyAlarmTest, OnlyTheLast30Count) {
  std::vector<double> nights(100, 50);
  const std::vector<double> last = Nights(0.1);
  nights.insert(nights.end(), last.begin(), last.end());
  EXPECT_EQ(JudgeNight(nights, 100).baseline, 100);
}

TEST(NightlyAlarmTest, TooFewNights) {
  const std::vector<double> nine(9, 100);
  const NightJudgement judged = JudgeNight(nine, 200);
  EXPECT_EQ(judged.verdict, Verdict::kUnclear);
  EXPECT_THAT(judged.reason, HasSubstr("9 nights before this one; at least 10"));
  EXPECT_EQ(JudgeNight(std::vector<double>(10, 100), 200).verdict, Verdict::kSlower);
}

// The machine is 5 % slower tonight, and so is the sentinel.
TEST(NightlyAlarmTest, TheSentinelCancelsADrift) {
  const std::vector<double> runs = {2.10, 2.08, 2.12};
  const std::vector<double> sentinel = {1.05, 1.06, 1.04};
  EXPECT_NEAR(LevelOfNight(runs, sentinel), 2, 1e-12);
  EXPECT_NEAR(LevelOfNight(runs, {}), 2.1, 1e-12);
}

}  // namespace
}  // namespace draftmark
