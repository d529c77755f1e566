#include "src/perf/nightly.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

CaseNights Nights(std::size_t count, double level = 1) {
  CaseNights nights{.case_id = "draft/a"};
  for (std::size_t i = 0; i < count; ++i) {
    nights.nights[static_cast<Day>(100 + i)] = level + 0.001 * static_cast<double>(i % 3);
  }
  return nights;
}

Tonight At(Day day, double value) { return {.day = day, .runs = {value, value, value}}; }

TEST(NightlyTest, Verdicts) {
  EXPECT_EQ(JudgeCaseNight(Nights(30), {}, At(130, 1.001)).verdict, Verdict::kSame);
  EXPECT_EQ(JudgeCaseNight(Nights(30), {}, At(130, 1.03)).verdict, Verdict::kSlower);
  EXPECT_EQ(JudgeCaseNight(Nights(30), {}, At(130, 0.97)).verdict, Verdict::kFaster);
  const NightlyCase young = JudgeCaseNight(Nights(9), {}, At(130, 2));
  EXPECT_TRUE(young.no_baseline);
  EXPECT_EQ(young.verdict, Verdict::kUnclear);
  EXPECT_FALSE(JudgeCaseNight(Nights(10), {}, At(130, 2)).no_baseline);
}

// What comes after the night that is judged is not its baseline.
TEST(NightlyTest, OnlyNightsBefore) {
  CaseNights nights = Nights(30);
  for (Day day = 131; day < 160; ++day) nights.nights[day] = 2;
  const NightlyCase judged = JudgeCaseNight(nights, {}, At(130, 1.03));
  EXPECT_EQ(judged.judged.nights, 30u);
  EXPECT_EQ(judged.verdict, Verdict::kSlower);
}

TEST(NightlyTest, TheSentinelCancelsADriftOfItsNight) {
  Sentinel sentinel;
  for (Day day = 100; day < 130; ++day) sentinel[day] = 2;
  sentinel[130] = 2.1;
  const NightlyCase same = JudgeCaseNight(Nights(30), sentinel, At(130, 1.05 * 1.001));
  EXPECT_EQ(same.verdict, Verdict::kSame);
  EXPECT_NEAR(same.seconds, 1.001, 1e-12);
  EXPECT_EQ(JudgeCaseNight(Nights(30), sentinel, At(130, 1.001)).verdict, Verdict::kFaster);
  sentinel.erase(100);
  EXPECT_EQ(JudgeCaseNight(Nights(30), sentinel, At(130, 1.05)).judged.nights, 29u);
  sentinel.erase(130);
  const NightlyCase unknown = JudgeCaseNight(Nights(30), sentinel, At(130, 1));
  EXPECT_EQ(unknown.verdict, Verdict::kInvalid);
  EXPECT_THAT(unknown.reason, HasSubstr("sentinel was not measured"));
}

TEST(NightlyTest, TooFewRunsAreInvalid) {
  const NightlyCase judged =
      JudgeCaseNight(Nights(30), {}, {.day = 130, .runs = {1, 1}, .failure = "failed: no GPU"});
  EXPECT_EQ(judged.verdict, Verdict::kInvalid);
  EXPECT_EQ(judged.reason, "2 runs can be used, at least 3 are needed: failed: no GPU");
}

// It is judged by the others, and the failure is not lost.
TEST(NightlyTest, ARunThatFailedIsTold) {
  Tonight tonight = At(130, 1.001);
  EXPECT_EQ(JudgeCaseNight(Nights(30), {}, tonight).reason, "");
  tonight.failure = "failed: it crashed";
  const NightlyCase judged = JudgeCaseNight(Nights(30), {}, tonight);
  EXPECT_EQ(judged.verdict, Verdict::kSame);
  EXPECT_EQ(judged.reason, "without a run of tonight: failed: it crashed");
}

TEST(NightlyTest, OnlyFreshRunsThatAgreeConfirm) {
  const NightlyCase slower = JudgeCaseNight(Nights(30), {}, At(130, 1.03));
  NightlyCase judged = slower;
  ConfirmCaseNight({1.03, 1.03, 1.03}, 0, judged);
  EXPECT_EQ(judged.verdict, Verdict::kSlower);
  EXPECT_NEAR(*judged.again, 1.03 / 1.001, 1e-12);
  judged = slower;
  ConfirmCaseNight({1.01, 1.01, 1.01}, 0, judged);
  EXPECT_EQ(judged.verdict, Verdict::kUnclear);
  EXPECT_THAT(judged.reason, HasSubstr("3 fresh runs do not confirm"));
  judged = slower;
  ConfirmCaseNight({1.03, 1.03}, 0, judged);
  EXPECT_EQ(judged.verdict, Verdict::kUnclear);
  // Twice as slow with a machine that is twice as slow.
  Sentinel sentinel;
  for (Day day = 100; day <= 130; ++day) sentinel[day] = 3;
  judged = JudgeCaseNight(Nights(30), sentinel, At(130, 1.03));
  ConfirmCaseNight({2.06, 2.06, 2.06}, 6, judged);
  EXPECT_EQ(judged.verdict, Verdict::kSlower);
  ConfirmCaseNight({2, 2, 2}, 6, judged);
  EXPECT_EQ(judged.verdict, Verdict::kUnclear);
  judged = JudgeCaseNight(Nights(30), sentinel, At(130, 1.03));
  ConfirmCaseNight({1.03, 1.03, 1.03}, 0, judged);
  EXPECT_EQ(judged.verdict, Verdict::kUnclear);
  EXPECT_THAT(judged.reason, HasSubstr("sentinel was not measured in the fresh runs"));
}

TEST(NightlyTest, ChangesAreDated) {
  CaseNights nights = Nights(40);
  for (Day day = 125; day < 140; ++day) nights.nights[day] *= 1.02;
  const NightlyCase judged = JudgeCaseNight(nights, {}, At(140, 1.02));
  ASSERT_EQ(judged.changes.size(), 1u);
  EXPECT_EQ(judged.changes[0].day, 125);
  EXPECT_NEAR(judged.changes[0].step, 0.02, 0.001);
  EXPECT_THAT(JudgeCaseNight(Nights(40), {}, At(140, 1)).changes, IsEmpty());
}

}  // namespace
}  // namespace draftmark
