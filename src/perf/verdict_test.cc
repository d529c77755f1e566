#include "src/perf/verdict.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

// `count` run values evenly within `level` * (1 +- half_width); no two equal.
std::vector<double> Runs(std::size_t count, double level, double half_width) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = 2 * static_cast<double>(i) / static_cast<double>(count - 1) - 1;
    values.push_back(level * (1 + half_width * at));
  }
  return values;
}

TEST(VerdictTest, SlowerFasterSame) {
  const std::vector<double> base = Runs(10, 1, 0.004);
  const Judgement slower = Judge(base, Runs(10, 1.03, 0.004));
  EXPECT_EQ(slower.verdict, Verdict::kSlower);
  EXPECT_NEAR(slower.ratio, 1.03, 1e-12);
  EXPECT_NEAR(slower.p, 2.0 / 184756, 1e-15);
  EXPECT_GT(slower.shift.low, 1.02);
  EXPECT_LE(slower.shift.low, slower.same.low);
  EXPECT_EQ(slower.reason, "");
  EXPECT_EQ(Judge(Runs(10, 1.03, 0.004), base).verdict, Verdict::kFaster);
  const Judgement same = Judge(base, Runs(10, 1.001, 0.004));
  EXPECT_EQ(same.verdict, Verdict::kSame);
  EXPECT_EQ(same.add_runs, 0u);
  EXPECT_EQ(Judge(base, base).verdict, Verdict::kSame);
}

// Significant, but no more than the floor: the mutant without a floor calls it slower.
TEST(VerdictTest, TheFloor) {
  const std::vector<double> base = Runs(10, 1, 0.0005);
  EXPECT_EQ(Judge(base, Runs(10, 1.0149, 0.00005)).verdict, Verdict::kUnclear);
  EXPECT_EQ(Judge(base, Runs(10, 1.0151, 0.00005)).verdict, Verdict::kSlower);
  EXPECT_EQ(Judge(base, Runs(10, 0.9851, 0.00005)).verdict, Verdict::kUnclear);
  EXPECT_EQ(Judge(base, Runs(10, 1.014, 0.00005)).verdict, Verdict::kSame);
  EXPECT_EQ(Judge(base, Runs(10, 0.9849, 0.00005)).verdict, Verdict::kFaster);
  // A case that spreads in A/A comparisons.
  EXPECT_EQ(FloorOf(0), kFloor);
  EXPECT_EQ(FloorOf(0.003), kFloor);
  EXPECT_DOUBLE_EQ(FloorOf(0.01), 0.04);
  EXPECT_EQ(Judge(base, Runs(10, 1.03, 0.0005), {.floor = FloorOf(0.01)}).verdict, Verdict::kSame);
}

TEST(VerdictTest, SevenRunsAreTheFewest) {
  const Judgement six = Judge(Runs(6, 1, 0.001), Runs(10, 2, 0.001));
  EXPECT_EQ(six.verdict, Verdict::kUnclear);
  EXPECT_EQ(six.add_runs, 4u);
  EXPECT_THAT(six.reason, HasSubstr("6+10 runs; at least 7 a side"));
  EXPECT_EQ(Judge(Runs(7, 1, 0.001), Runs(7, 1.02, 0.001)).verdict, Verdict::kSlower);
  EXPECT_EQ(Judge(std::vector<double>{1}, std::vector<double>{1}).verdict, Verdict::kUnclear);
}

// p of 7 + 7 fully apart is 0.0006: enough for the first look, not for the second.
TEST(VerdictTest, TheSecondLookIsStricter) {
  const std::vector<double> base = Runs(7, 1, 0.001);
  const std::vector<double> next = Runs(7, 1.02, 0.001);
  EXPECT_EQ(Judge(base, next).verdict, Verdict::kSlower);
  const Judgement second = Judge(base, next, {.look = Look::kSecond});
  EXPECT_EQ(second.verdict, Verdict::kUnclear);
  EXPECT_EQ(second.add_runs, 0u);
  EXPECT_THAT(second.reason, HasSubstr("second look"));
}

TEST(VerdictTest, UnclearAsksForRunsOnce) {
  const Judgement first = Judge(Runs(10, 1, 0.008), Runs(10, 1.013, 0.008));
  EXPECT_EQ(first.verdict, Verdict::kUnclear);
  EXPECT_EQ(first.add_runs, kAddedRuns);
  EXPECT_THAT(first.reason, HasSubstr("second look takes 6 more"));
  // A spread above 0.7 % wants 16 runs first.
  const Judgement noisy = Judge(Runs(10, 1, 0.015), Runs(10, 1.013, 0.015));
  EXPECT_EQ(noisy.verdict, Verdict::kUnclear);
  EXPECT_EQ(noisy.add_runs, 6u);
  EXPECT_THAT(noisy.reason, HasSubstr("takes 16"));
  EXPECT_EQ(RunsFor(0.007), 10u);
  EXPECT_EQ(RunsFor(0.0071), 16u);
}

TEST(VerdictTest, TooNoisyIsInvalidWhateverTheRatio) {
  const Judgement judged = Judge(Runs(10, 1, 0.03), Runs(10, 2, 0.03));
  EXPECT_EQ(judged.verdict, Verdict::kInvalid);
  EXPECT_THAT(judged.reason, HasSubstr("too noisy: run values spread by 2.02 %"));
  EXPECT_EQ(judged.add_runs, 0u);
}

// One run of base lies above all of new: p is small enough, but base's median could have been that
// run's in more than 1 of 1,000 draws.
TEST(VerdictTest, TheIntervalCounts) {
  std::vector<double> base = Runs(9, 1, 0.0001);
  base.push_back(1.04);
  const Judgement judged = Judge(base, Runs(12, 1.0165, 0.0001));
  EXPECT_LT(judged.p, kFirstLookP);
  EXPECT_GT(judged.ratio, 1 + kFloor);
  EXPECT_LE(judged.shift.low, 1);
  EXPECT_EQ(judged.verdict, Verdict::kUnclear);
}

TEST(VerdictTest, ConfirmsTakesLessButFreshRuns) {
  const std::vector<double> base = Runs(10, 1, 0.006);
  EXPECT_TRUE(Confirms(base, Runs(10, 1.011, 0.006)));
  EXPECT_FALSE(Confirms(base, Runs(10, 1.0099, 0.006)));             // not above 1 %
  EXPECT_FALSE(Confirms(Runs(10, 1, 0.03), Runs(10, 1.011, 0.03)));  // p
  EXPECT_FALSE(Confirms(base, Runs(10, 0.9, 0.006)));
  EXPECT_FALSE(Confirms(Runs(9, 1, 0.006), Runs(10, 1.1, 0.006)));
}

TEST(VerdictTest, DetectableShift) {
  EXPECT_DOUBLE_EQ(DetectableShift(0, 10, 10), kFloor);
  // Page: C, whose runs spread by 0.54 %, is caught at +2 %; D (1.03 %) at +3 %, not at +2 %.
  EXPECT_NEAR(DetectableShift(0.0054, 10, 10), 0.0214, 0.0005);
  EXPECT_NEAR(DetectableShift(0.0103, 10, 10), 0.030, 0.0005);
  EXPECT_LT(DetectableShift(0.0103, 16, 16), DetectableShift(0.0103, 10, 10));
  EXPECT_GT(DetectableShift(0.001, 10, 10, 0.04), 0.04);
}

TEST(VerdictTest, Names) {
  EXPECT_EQ(VerdictName(Verdict::kFaster), "faster");
  EXPECT_EQ(VerdictName(Verdict::kSame), "same");
  EXPECT_EQ(VerdictName(Verdict::kSlower), "slower");
  EXPECT_EQ(VerdictName(Verdict::kUnclear), "unclear");
  EXPECT_EQ(VerdictName(Verdict::kInvalid), "invalid");
  EXPECT_EQ(LookName(Look::kSecond), "second");
}

}  // namespace
}  // namespace draftmark
