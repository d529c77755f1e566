#include "tools/commands/bench/roofline_report.h"

#include "src/base/status_matchers.h"
#include "tools/commands/bench/roofline_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

RooflineWork Work(const std::string& part = "qwen3-8b") {
  const std::vector<RooflineWork> works = RooflineWorks().value();
  for (const RooflineWork& work : works) {
    if (work.draft.id.find(part) != std::string::npos) return work;
  }
  ADD_FAILURE() << part;
  return {};
}

WorkResult Judge(const RooflineWork& work, double fast_ratio, double simple_ratio = 2,
                 const MachineFacts& facts = FakeFacts()) {
  return JudgeWork(work, facts,
                   ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(work.draft, simple_ratio)),
                                     .fast = FakeRuns(FloorTimes(work.draft, fast_ratio))});
}

LinearLine Line(std::uint64_t n, std::uint64_t k, std::uint64_t rows = 16) {
  return {.shape = {.n = n, .k = k, .used_as = "test"}, .rows = rows};
}

LinearResult Judge(const LinearLine& line, double share, double simple_share = 0.5) {
  return JudgeLinear(line, FakeFacts(),
                     ByPath<double>{.simple = SecondsOfShare(line.shape, simple_share),
                                    .fast = SecondsOfShare(line.shape, share)});
}

TEST(JudgeWorkTest, CountsBytesAndTheirTime) {
  const WorkResult result = Judge(Work(), 1.05);
  EXPECT_EQ(result.id, "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1");
  EXPECT_EQ(result.floor_bytes, 3384363520u);
  EXPECT_EQ(result.unique_bytes, 3384363520u);
  EXPECT_EQ(result.second_read_bytes, 5u * 2 * 1024 * 4096 * 2);
  EXPECT_DOUBLE_EQ(result.floor_ms, 3384363520 / 4e12 * 1e3);
  EXPECT_THAT(result.status, IsOk());
  EXPECT_NEAR(result.ratio(), 1.05, 1e-12);
}

TEST(JudgeWorkTest, MustAndAimHaveTheirBorders) {
  for (const auto& [ratio, must, aim] :
       {std::tuple(1.0999, true, true), std::tuple(1.1001, true, false),
        std::tuple(1.2499, true, false), std::tuple(1.2501, false, false)}) {
    const WorkResult result = Judge(Work(), ratio);
    EXPECT_EQ(result.must_met(), must) << ratio;
    EXPECT_EQ(result.aim_met(), aim) << ratio;
  }
}

TEST(JudgeWorkTest, TheFastPathCountsWhereThereIsOne) {
  EXPECT_TRUE(Judge(Work(), 1.05, 9).must_met());
  EXPECT_FALSE(Judge(Work(), 9, 1.05).must_met());
  const RooflineWork work = Work();
  const WorkResult simple = JudgeWork(
      work, FakeFacts(),
      ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(work.draft, 1.2)), .fast = std::nullopt});
  EXPECT_TRUE(simple.must_met());
  EXPECT_NEAR(simple.ratio(), 1.2, 1e-12);
}

TEST(JudgeWorkTest, AMeasurementThatFailedMeetsNothing) {
  const WorkResult result = JudgeWork(Work(), FakeFacts(), InternalError("other tokens"));
  EXPECT_FALSE(result.times.has_value());
  EXPECT_FALSE(result.must_met());
  EXPECT_FALSE(result.factor().has_value());
  EXPECT_EQ(result.status.message(), result.id + ": other tokens");
}

// The mutant without the check: 0.79 of the floor would be the best record of all.
TEST(JudgeWorkTest, ATimeThatCannotBeIsAnErrorAndNoRecord) {
  // At 4 of 5 TB/s the theoretical time is 0.8 of the floor.
  EXPECT_THAT(Judge(Work(), 0.82).status, IsOk());  // the shortest is 0.99 of the median
  for (const WorkResult& result : {Judge(Work(), 0.79), Judge(Work(), 0.805) /* only its minimum */,
                                   Judge(Work(), 1.05, 0.79)}) {
    EXPECT_THAT(result.status,
                StatusIs(StatusCode::kInternal,
                         AllOf(StartsWith(result.id + ": "), HasSubstr(" ms cannot be: "))));
    EXPECT_FALSE(result.times.has_value());
    EXPECT_FALSE(result.must_met());
    RooflineReport report;
    report.works = {result};
    EXPECT_EQ(ExitCodeOf(report), kExitMismatch);
  }
  EXPECT_THAT(Judge(Work(), 0.79).status.message(), HasSubstr(": fast: "));
  EXPECT_THAT(Judge(Work(), 1.05, 0.79).status.message(), HasSubstr(": simple: "));
}

TEST(JudgeWorkTest, TheMarkovMatrixCountsOnceForWhatCannotBe) {
  const RooflineWork work = Work("dspark");
  const WorkResult sound = Judge(work, 1.05);
  ASSERT_LT(sound.unique_bytes, sound.floor_bytes);
  EXPECT_EQ(sound.floor_bytes - sound.unique_bytes, 6u * 248320 * 256 * 2);
  // Below the floor at the theoretical bandwidth, above that of the unique bytes.
  const double unique_share =
      static_cast<double>(sound.unique_bytes) / static_cast<double>(sound.floor_bytes);
  EXPECT_THAT(Judge(work, 0.8 * (unique_share + 1) / 2).status, IsOk());
  EXPECT_THAT(Judge(work, 0.8 * unique_share * 0.999).status,
              StatusIs(StatusCode::kInternal, HasSubstr("cannot be")));
}

TEST(JudgeWorkTest, WithoutATheoreticalBandwidthOnlyNoTimeIsTooShort) {
  MachineFacts facts = FakeFacts();
  facts.theoretical_bytes_per_second.reset();
  EXPECT_THAT(Judge(Work(), 0.1, 2, facts).status, IsOk());
  for (const double ratio : {0.0, -1.0}) {
    EXPECT_THAT(Judge(Work(), ratio, 2, facts).status,
                StatusIs(StatusCode::kInternal, HasSubstr("fast: a time of ")));
  }
}

TEST(JudgeWorkTest, TheFactorIsThatOverTheBestColumn) {
  WorkResult result = Judge(Work(), 1.05);
  EXPECT_FALSE(result.factor().has_value());
  result.baseline = FakeBaseline(3 * result.times->taken().median_ms);
  EXPECT_NEAR(result.factor().value(), 3, 1e-12);
}

TEST(JudgeLinearTest, SharesAreOfTheCopyBandwidth) {
  const LinearResult result = Judge(Line(4096, 4096), 0.9);
  EXPECT_NEAR(result.share.taken(), 0.9, 1e-12);
  EXPECT_NEAR(result.share.simple, 0.5, 1e-12);
  EXPECT_EQ(result.goal.name, "under 64 MB");
  EXPECT_TRUE(result.must_met());
  EXPECT_FALSE(result.aim_met());
  EXPECT_TRUE(Judge(Line(4096, 4096), 0.941).aim_met());
  EXPECT_FALSE(Judge(Line(4096, 4096), 0.799).must_met());
  EXPECT_FALSE(Judge(Line(151936, 4096), 0.879).must_met());
  EXPECT_TRUE(Judge(Line(151936, 4096), 0.881).must_met());
  EXPECT_TRUE(Judge(Line(10240, 4096), 0.1).must_met());  // between the classes
}

TEST(JudgeLinearTest, WithoutAFastPathTheSimpleOneIsJudged) {
  const LinearLine line = Line(4096, 4096, 32);
  const auto simple = [&](double share) {
    return JudgeLinear(
        line, FakeFacts(),
        ByPath<double>{.simple = SecondsOfShare(line.shape, share), .fast = std::nullopt});
  };
  EXPECT_TRUE(simple(0.801).must_met());
  EXPECT_FALSE(simple(0.799).must_met());
  EXPECT_TRUE(simple(0.941).aim_met());
  EXPECT_EQ(Summarise({Judge(Line(4096, 4096), 0.95), simple(0.799)}).front().worst_id,
            "linear/rows=32,n=4096,k=4096");
}

TEST(JudgeLinearTest, ATimeThatCannotBeIsAnErrorAndNoRecord) {
  EXPECT_THAT(Judge(Line(4096, 4096), 1.24).status, IsOk());
  for (const LinearResult& result :
       {Judge(Line(4096, 4096), 1.26), Judge(Line(4096, 4096), 0.9, 1.26)}) {
    EXPECT_THAT(result.status,
                StatusIs(StatusCode::kInternal,
                         AllOf(StartsWith("linear/rows=16,n=4096,k=4096: "),
                               HasSubstr(" cannot be: reading 33554432 bytes takes 0.0067 ms"))));
    EXPECT_FALSE(result.must_met());
  }
}

TEST(SummariseTest, EachClassHasItsWorstAndMean) {
  const std::vector<LinearSummary> summaries =
      Summarise({Judge(Line(4096, 4096, 1), 0.95), Judge(Line(4096, 4096, 32), 0.85),
                 Judge(Line(10240, 4096), 0.2), Judge(Line(151936, 4096), 0.96)});
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0].goal.name, "under 64 MB");
  EXPECT_EQ(summaries[0].worst_id, "linear/rows=32,n=4096,k=4096");
  EXPECT_NEAR(summaries[0].worst, 0.85, 1e-12);
  EXPECT_NEAR(summaries[0].mean, 0.90, 1e-12);
  EXPECT_TRUE(summaries[0].must_met);
  EXPECT_FALSE(summaries[0].aim_met);
  EXPECT_TRUE(summaries[1].must_met);
  EXPECT_FALSE(summaries[1].aim_met);
  EXPECT_TRUE(summaries[2].aim_met);
}

TEST(SummariseTest, ALineWithoutATimeIsTheWorstAndMissesItsMust) {
  const std::vector<LinearSummary> summaries =
      Summarise({Judge(Line(4096, 4096, 1), 0.95),
                 JudgeLinear(Line(4096, 4096, 8), FakeFacts(), InternalError("no"))});
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].worst_id, "linear/rows=8,n=4096,k=4096");
  EXPECT_FALSE(summaries[0].must_met);
  EXPECT_NEAR(summaries[0].mean, 0.95, 1e-12);
  EXPECT_TRUE(Summarise({}).empty());
}

TEST(ExitCodeTest, FollowsTheMusts) {
  RooflineReport report;
  report.works = {Judge(Work(), 1.05), Judge(Work(), 1.2)};
  report.linear = {Judge(Line(4096, 4096), 0.85), Judge(Line(10240, 4096), 0.1)};
  EXPECT_EQ(ExitCodeOf(report), kExitGood);  // aims are hopes
  EXPECT_EQ(report.passed(), 4u);
  report.linear.push_back(Judge(Line(4096, 4096), 0.7));
  EXPECT_EQ(ExitCodeOf(report), kExitMismatch);
  EXPECT_EQ(report.failed(), 1u);
  report.works.push_back(
      JudgeWork(Work(), FakeFacts(), ResourceExhaustedError("out of device memory")));
  EXPECT_EQ(ExitCodeOf(report), kExitError);
  report.works.back() = JudgeWork(Work(), FakeFacts(), InternalError("other tokens"));
  EXPECT_EQ(ExitCodeOf(report), kExitMismatch);
}

}  // namespace
}  // namespace draftmark
