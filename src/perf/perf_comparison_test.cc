#include "src/perf/perf_comparison.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/perf/mann_whitney.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

BenchmarkCase Case(const std::string& name, std::vector<double> seconds,
                   const std::string& unit = "us") {
  return {.name = name,
          .seconds = std::move(seconds),
          .unit = unit,
          .unit_field = name + " unit",
          .failure = ""};
}

// `count` reports with one case each, whose times lie within 0.4 % of `level`.
std::vector<BenchmarkReport> Reports(std::size_t count, double level,
                                     const std::string& name = "a") {
  std::vector<BenchmarkReport> reports;
  for (std::size_t i = 0; i < count; ++i) {
    const double time = level * (1 + 0.0004 * static_cast<double>(i));
    reports.push_back({.source = fmt::format("{}.json", i), .cases = {Case(name, {time})}});
  }
  return reports;
}

PerfSide Side(const std::vector<BenchmarkReport>& reports) { return CollectSide(reports).value(); }

TEST(PerfComparisonTest, AFileIsARun) {
  const PerfSide side = Side({{"1.json", {Case("a", {1, 2, 3, 4, 100})}},
                              {"2.json", {Case("b", {5}), Case("a", {2, 2.5})}}});
  EXPECT_FALSE(side.assumed);
  ASSERT_EQ(side.cases.size(), 2u);
  ASSERT_EQ(side.cases[0].runs.size(), 2u);
  EXPECT_EQ(side.cases[0].runs[0].value, 2.5);
  EXPECT_EQ(side.cases[0].runs[0].median, 3);
  EXPECT_EQ(side.cases[0].runs[0].samples, 5u);
  EXPECT_EQ(side.cases[1].runs.size(), 1u);
}

TEST(PerfComparisonTest, RepetitionsOfASingleFileAreAssumedToBeRuns) {
  const PerfSide side = Side({{"1.json", {Case("a", {1, 2, 3})}}});
  EXPECT_TRUE(side.assumed);
  EXPECT_EQ(side.cases[0].runs.size(), 3u);
  EXPECT_FALSE(Side({{"1.json", {Case("a", {1})}}}).assumed);
}

TEST(PerfComparisonTest, BadSides) {
  EXPECT_THAT(CollectSide({{"1.json", {Case("a", {1})}}, {"2.json", {Case("a", {2}, "ns")}}}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("expected us as in a unit, found ns")));
  EXPECT_THAT(CollectSide(Reports(kMostRuns + 1, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a has more than 100 runs")));
  PerfSide other = Side(Reports(7, 1));
  other.cases[0].unit = "ns";
  EXPECT_THAT(ComparePerf(Side(Reports(7, 1)), other, {}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("expected us")));
}

TEST(PerfComparisonTest, CasesAreMatchedByName) {
  std::vector<BenchmarkReport> base = Reports(10, 1);
  std::vector<BenchmarkReport> next = Reports(10, 1.03);
  base[0].cases.push_back(Case("gone", {1}));
  next[4].cases.push_back(Case("fresh", {1}));
  DM_ASSERT_OK_AND_ASSIGN(const PerfComparison compared, ComparePerf(Side(base), Side(next), {}));
  ASSERT_EQ(compared.cases.size(), 1u);
  EXPECT_EQ(compared.cases[0].verdict, Verdict::kSlower);
  EXPECT_NEAR(compared.cases[0].judgement->ratio, 1.03, 1e-12);
  EXPECT_EQ(compared.cases[0].unit, "us");
  EXPECT_THAT(compared.only_base, ElementsAre("gone"));
  EXPECT_THAT(compared.only_next, ElementsAre("fresh"));
  DM_ASSERT_OK_AND_ASSIGN(const PerfComparison none,
                          ComparePerf(Side(base), Side(next), {}, {"other"}));
  EXPECT_THAT(none.cases, IsEmpty());
  EXPECT_THAT(none.only_base, IsEmpty());
}

TEST(PerfComparisonTest, AFailureInAnyRunIsInvalidAndHasNoNumber) {
  std::vector<BenchmarkReport> next = Reports(10, 1);
  next[3].cases[0].failure = "failed in 3.json: no GPU";
  next[3].cases[0].seconds.clear();
  DM_ASSERT_OK_AND_ASSIGN(const PerfComparison compared,
                          ComparePerf(Side(Reports(10, 1)), Side(next), {}));
  EXPECT_EQ(compared.verdict, Verdict::kInvalid);
  EXPECT_EQ(compared.cases[0].reason, "failed in 3.json: no GPU");
  EXPECT_FALSE(compared.cases[0].judgement.has_value());
}

// Each case added outranks those before.
TEST(PerfComparisonTest, TheVerdictOfAll) {
  std::vector<BenchmarkReport> base = Reports(10, 1);
  std::vector<BenchmarkReport> next = Reports(10, 1);
  const auto verdict = [&] { return ComparePerf(Side(base), Side(next), {})->verdict; };
  const auto add = [&](const std::string& name, double ratio, std::size_t runs) {
    for (std::size_t i = 0; i < runs; ++i) {
      const double time = 1 + 0.0004 * static_cast<double>(i);
      base[i].cases.push_back(Case(name, {time}));
      next[i].cases.push_back(Case(name, {time * ratio}));
    }
  };
  EXPECT_EQ(verdict(), Verdict::kSame);
  add("faster", 0.9, 10);
  EXPECT_EQ(verdict(), Verdict::kFaster);
  add("unclear", 1, 3);
  EXPECT_EQ(verdict(), Verdict::kUnclear);
  add("failed", 1, 10);
  next[0].cases.back().failure = "failed";
  EXPECT_EQ(verdict(), Verdict::kInvalid);
  add("slower", 1.1, 10);
  EXPECT_EQ(verdict(), Verdict::kSlower);
}

// `count` reports of equal times, with launches.
std::vector<BenchmarkReport> Counted(std::size_t count, double level, std::uint64_t launches) {
  std::vector<BenchmarkReport> reports = Reports(count, level);
  for (BenchmarkReport& report : reports) report.cases[0].counts["launches"] = launches;
  return reports;
}

TEST(PerfComparisonTest, ALargerCountIsSlowerWhateverTheTimeSays) {
  for (const double level : {1.0, 0.9}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const PerfComparison compared,
        ComparePerf(Side(Counted(10, 1, 24)), Side(Counted(10, level, 25)), {}));
    EXPECT_EQ(compared.verdict, Verdict::kSlower);
    EXPECT_EQ(compared.cases[0].verdict, level < 1 ? Verdict::kFaster : Verdict::kSame);
    EXPECT_EQ(compared.cases[0].LargerCounts(), 1u);
  }
  for (const std::uint64_t launches : {23, 24}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const PerfComparison fewer,
        ComparePerf(Side(Counted(10, 1, 24)), Side(Counted(10, 1, launches)), {}));
    EXPECT_EQ(fewer.verdict, Verdict::kSame);
    EXPECT_EQ(fewer.cases[0].LargerCounts(), 0u);
  }
}

// Counts need no seven runs, and are compared where times are too noisy or a benchmark failed.
TEST(PerfComparisonTest, CountsNeedNoEvidenceOfTimes) {
  EXPECT_EQ(ComparePerf(Side(Counted(1, 1, 24)), Side(Counted(1, 1, 25)), {})->verdict,
            Verdict::kSlower);
  std::vector<BenchmarkReport> failed = Counted(10, 1, 25);
  failed[3].cases[0] = {.name = "a", .failure = "failed"};
  DM_ASSERT_OK_AND_ASSIGN(const PerfComparison compared,
                          ComparePerf(Side(Counted(10, 1, 24)), Side(failed), {}));
  EXPECT_EQ(compared.cases[0].verdict, Verdict::kInvalid);
  EXPECT_EQ(compared.verdict, Verdict::kSlower);
}

TEST(PerfComparisonTest, CasesWithoutTimes) {
  const auto side = [](std::uint64_t bytes) {
    return Side({{"1", {{.name = "scratch/a", .counts = {{"peak_bytes", bytes}}}}}});
  };
  DM_ASSERT_OK_AND_ASSIGN(const PerfComparison same, ComparePerf(side(7), side(7), {}));
  EXPECT_EQ(same.verdict, Verdict::kSame);
  EXPECT_EQ(same.cases[0].reason, "counts only");
  EXPECT_FALSE(same.cases[0].judgement.has_value());
  EXPECT_EQ(ComparePerf(side(7), side(8), {})->verdict, Verdict::kSlower);
  PerfSide timed = Side(Reports(10, 1, "scratch/a"));
  EXPECT_EQ(ComparePerf(timed, side(8), {})->cases[0].reason, "no time in NEW");
  EXPECT_EQ(ComparePerf(side(8), timed, {})->cases[0].reason, "no time in BASE");
  EXPECT_EQ(ComparePerf(side(8), timed, {})->verdict, Verdict::kInvalid);
}

}  // namespace
}  // namespace draftmark
