#include "tools/commands/bench/roofline_table.h"

#include "src/base/status_matchers.h"
#include "tools/commands/bench/roofline_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

WorkResult Result(double fast_ratio) {
  const RooflineWork work = RooflineWorks().value().front();
  return JudgeWork(work, FakeFacts(),
                   ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(work.draft, 2)),
                                     .fast = FakeRuns(FloorTimes(work.draft, fast_ratio))});
}

std::vector<LinearResult> Shape(std::vector<double> shares, bool fast = true) {
  std::vector<LinearResult> results;
  const LinearShape shape = {.n = 4096, .k = 4096, .used_as = "8b: q, o"};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    ByPath<double> seconds = {.simple = SecondsOfShare(shape, fast ? 0.6 : shares[i]),
                              .fast = std::nullopt};
    if (fast) seconds.fast = SecondsOfShare(shape, shares[i]);
    results.push_back(JudgeLinear({.shape = shape, .rows = kLinearRows[i]}, FakeFacts(), seconds));
  }
  return results;
}

TEST(RooflineTableTest, TheHeadNamesTheMachine) {
  RooflineReport report;
  report.facts = FakeFacts();
  report.commit = "abc-modified";
  report.date = "2026-11-30";
  EXPECT_EQ(RooflineHead(report),
            "device NVIDIA Fake (sm_90)\n"
            "driver 580.1, CUDA 13.0, cuBLASLt 13.1.0; commit abc-modified, 2026-11-30\n"
            "copies 4.000 TB/s, read and written together; theoretical 5.000 TB/s\n");
  report.facts.theoretical_bytes_per_second.reset();
  EXPECT_THAT(RooflineHead(report),
              HasSubstr("; theoretical unknown, so that no time is too short\n"));
}

TEST(RooflineTableTest, AWorkIsOneLine) {
  WorkResult result = Result(1.2);
  result.baseline = FakeBaseline(1.5 * result.times->taken().median_ms);
  EXPECT_EQ(WorkText(result),
            "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1      0.846    1.015     1.692  "
            "1.200  1.25 met      1.10 not met  1.523 graph           1.50x\n");
  EXPECT_THAT(WorkText(Result(1.05)), HasSubstr("  1.25 met      1.10 met      -  "));
  EXPECT_THAT(WorkText(Result(1.3)), HasSubstr("  1.25 not met  1.10 not met  -  "));
  result.times->fast.reset();
  EXPECT_THAT(WorkText(result), HasSubstr("   0.846        -     1.692  2.000  1.25 not met"));
}

TEST(RooflineTableTest, AnErrorIsALineOfItsOwn) {
  const WorkResult result = Result(0.5);
  EXPECT_THAT(WorkText(result),
              AllOf(HasSubstr("   0.846        -         -  error  1.25 not met  1.10 not met"),
                    HasSubstr("\n  error: draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1: "
                              "fast: 0.4188 ms cannot be: ")));
}

TEST(RooflineTableTest, NotesAreLines) {
  RooflineReport report;
  EXPECT_EQ(NotesText(report), "");
  report.baseline_notes = {"no torch"};
  EXPECT_EQ(NotesText(report), "no PyTorch baseline: no torch\n");
}

TEST(RooflineTableTest, AShapeHasARowForEachPath) {
  EXPECT_EQ(LinearText(Shape({0.95, 0.9, 0.85, 0.8001, 0.7})),
            "     4096 x 4096      33.6 MB  fast   0.950  0.900  0.850  0.800  0.700*  8b: q, o\n"
            "     4096 x 4096      33.6 MB  simple 0.600* 0.600* 0.600* 0.600* 0.600*  8b: q, o\n");
  EXPECT_EQ(LinearText(Shape({0.95, 0.9}, /*fast=*/false)),
            "     4096 x 4096      33.6 MB  simple 0.950  0.900      -      -      -   8b: q, o\n");
  EXPECT_EQ(LinearText({}), "");
  EXPECT_THAT(
      LinearText(Shape({2, 0.9})),
      AllOf(HasSubstr(" error  0.900 "),
            HasSubstr("\n  error: linear/rows=1,n=4096,k=4096: fast: 0.0042 ms cannot be")));
}

TEST(RooflineTableTest, RowsThatTheFastPathDoesNotTakeAreInTheSimpleOnesRow) {
  std::vector<LinearResult> results = Shape({0.95, 0.9, 0.85, 0.81, 0.7});
  results.back() = Shape({0.95, 0.9, 0.85, 0.81, 0.7}, /*fast=*/false).back();
  EXPECT_EQ(LinearText(results),
            "     4096 x 4096      33.6 MB  fast   0.950  0.900  0.850  0.810      -   8b: q, o\n"
            "     4096 x 4096      33.6 MB  simple 0.600* 0.600* 0.600* 0.600* 0.700*  8b: q, o\n");
}

TEST(RooflineTableTest, TheSummaryCounts) {
  RooflineReport report;
  report.works = {Result(1.05), Result(1.2), Result(1.3)};
  report.linear = Shape({0.95, 0.7});
  EXPECT_EQ(
      SummaryText(report),
      "linear layers under 64 MB: worst 0.700 (linear/rows=4,n=4096,k=4096), mean 0.825; must "
      "0.80 not met, aim 0.94 not met\n"
      "drafts: 2 of 3 musts met, 1 of 3 aims\n"
      "3 passed, 2 failed\n");
  report.works.clear();
  EXPECT_THAT(SummaryText(report), Not(HasSubstr("drafts")));
}

}  // namespace
}  // namespace draftmark
