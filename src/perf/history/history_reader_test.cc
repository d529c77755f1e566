#include "src/perf/history/history_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kDay = 86400;
constexpr char kCase[] = "op/rms_norm/rows=16,h=4096/bf16";

class HistoryReaderTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("history.db"); }
  std::string Add(const HistoryRecord& record) {
    StatusOr<History> history = History::Open(Database());
    EXPECT_THAT(history, IsOk());
    const StatusOr<Added> added = history->Add(record);
    EXPECT_THAT(added, IsOk());
    return added->uid;
  }
  HistoryReader Open() {
    StatusOr<HistoryReader> reader = HistoryReader::Open(Database());
    EXPECT_THAT(reader, IsOk());
    return std::move(reader).value();
  }
  static std::int32_t Day(const std::string& night) {
    return static_cast<std::int32_t>(DayOfNight(night).value());
  }

  TestFolder folder_;
};

TEST_F(HistoryReaderTest, NothingThere) {
  EXPECT_THAT(HistoryReader::Open(Database()),
              StatusIs(StatusCode::kNotFound, HasSubstr("history.db: no such history")));
  EXPECT_FALSE(std::filesystem::exists(Database()));
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  HistoryReader reader = Open();
  EXPECT_THAT(reader.Environments().value(), IsEmpty());
  EXPECT_THAT(reader.Series().value(), IsEmpty());
  EXPECT_THAT(reader.Nights().value(), IsEmpty());
  EXPECT_THAT(reader.NewestCounts().value(), IsEmpty());
  EXPECT_THAT(reader.Runs().value(), IsEmpty());
  EXPECT_THAT(reader.NewestVerdicts().value(), IsEmpty());
  EXPECT_THAT(reader.ConformanceMatrix().value(), IsEmpty());
}

TEST_F(HistoryReaderTest, NightsAreMediansOfTheirValidRuns) {
  // In another order than that of time; an even and an odd number of runs.
  for (const double seconds : {4e-6, 1e-6, 3e-6}) Add(TestRun(seconds, kTestTime + kDay));
  for (const double seconds : {5e-6, 2e-6}) {
    RunRecord run = TestRun(seconds, kTestTime);
    run.points[0].copy_share = seconds * 1e5;
    Add(run);
  }
  RunRecord invalid = TestRun(100e-6, kTestTime);
  invalid.valid = false;
  invalid.reason = "contaminated";
  Add(invalid);
  RunRecord failed = TestRun(1e-6, kTestTime + 2 * kDay);
  failed.points = {{.case_id = kCase, .failure = "no kernel"}};
  Add(failed);
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<NightSeries> all, reader.Nights());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].series.case_id, kCase);
  EXPECT_EQ(all[0].unit, "us");
  EXPECT_THAT(all[0].reproduce, HasSubstr("--benchmark_filter="));
  ASSERT_EQ(all[0].nights.size(), 3u);
  const NightValue& first = all[0].nights[0];
  EXPECT_EQ(first.day, Day("2026-11-30"));
  EXPECT_DOUBLE_EQ(first.seconds, 3.5e-6);
  EXPECT_DOUBLE_EQ(first.low, 2e-6);
  EXPECT_DOUBLE_EQ(first.high, 5e-6);
  EXPECT_EQ(first.runs, 2);
  EXPECT_EQ(first.invalid, 1);
  EXPECT_EQ(first.samples, 60);
  EXPECT_FLOAT_EQ(first.copy_share, 0.35f);
  EXPECT_FLOAT_EQ(first.floor_share, -1);
  EXPECT_DOUBLE_EQ(all[0].nights[1].seconds, 3e-6);
  EXPECT_EQ(all[0].nights[2].failed, 1);
  EXPECT_EQ(all[0].nights[2].runs, 0);
  EXPECT_EQ(all[0].nights[2].seconds, 0);

  EXPECT_EQ(reader.Nights({.since = "2026-12-01"}).value()[0].nights.size(), 2u);
  EXPECT_THAT(reader.Nights({.since = "2026-12-03"}).value(), IsEmpty());
  EXPECT_THAT(reader.Nights({.architecture = "sm_80"}).value(), IsEmpty());
  EXPECT_THAT(reader.Nights({.case_id = "op/none"}).value(), IsEmpty());
  EXPECT_EQ(reader.Nights({.architecture = "sm_90", .case_id = kCase}).value().size(), 1u);

  DM_ASSERT_OK_AND_ASSIGN(const auto nights, reader.NightRuns());
  ASSERT_EQ(nights.size(), 3u);
  EXPECT_EQ(nights[0].runs.size(), 3u);
  EXPECT_EQ(nights[1].runs.size(), 3u);
  EXPECT_THAT(nights[0].commit, testing::StartsWith("b8a6378e"));

  DM_ASSERT_OK_AND_ASSIGN(const auto trend, reader.Trend(all[0].series.id));
  ASSERT_EQ(trend.size(), 7u);
  EXPECT_EQ(trend.front().night, "2026-11-30");
  EXPECT_EQ(trend.back().point.failure, "no kernel");
  EXPECT_EQ(reader.Trend(all[0].series.id, "2026-12-02").value().size(), 1u);
}

TEST_F(HistoryReaderTest, ASeriesIsItsWholeKey) {
  Add(TestRun());
  RunRecord driver = TestRun();
  driver.environment.driver = "590.1";
  Add(driver);
  RunRecord clocks = TestRun();
  clocks.environment.clocks = "locked";
  Add(clocks);
  RunRecord schema = TestRun();
  schema.points[0].schema = 2;
  Add(schema);
  HistoryReader reader = Open();
  EXPECT_EQ(reader.Series({.case_id = kCase}).value().size(), 4u);
  EXPECT_EQ(reader.Nights().value().size(), 4u);
  DM_ASSERT_OK_AND_ASSIGN(const auto environments, reader.Environments());
  ASSERT_EQ(environments.size(), 3u);
  EXPECT_EQ(environments[0].environment, TestEnvironment());
  EXPECT_EQ(environments[0].runs, 2);
  EXPECT_EQ(environments[0].newest, kTestTime);
  EXPECT_EQ(reader.Nights({.environment = environments[1].id}).value().size(), 1u);
}

TEST_F(HistoryReaderTest, RunsAndIds) {
  const std::string first = Add(TestRun(1e-6, kTestTime, 0));
  const std::string second = Add(TestRun(2e-6, kTestTime + 60, 1));
  const std::string gate = Add(TestGate());
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const auto runs, reader.Runs());
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].id, second);
  EXPECT_EQ(runs[1].id, first);
  EXPECT_EQ(runs[0].points, 1);
  EXPECT_EQ(reader.Runs({.limit = 1}).value().size(), 1u);
  EXPECT_EQ(reader.Runs({.commit = "b8a6378"}).value().size(), 2u);
  EXPECT_THAT(reader.Runs({.commit = "b8a6378f"}).value(), IsEmpty());
  EXPECT_THAT(reader.Runs({.program = "other"}).value(), IsEmpty());
  EXPECT_EQ(reader.Runs({.session = "nightly", .night = "2026-11-30"}).value().size(), 2u);
  EXPECT_EQ(reader.FindId(first.substr(0, 6)).value(), first);
  EXPECT_EQ(reader.FindId(first).value(), first);
  EXPECT_DOUBLE_EQ(*reader.Run(second.substr(0, 8)).value().points[0].seconds, 2e-6);
  EXPECT_THAT(reader.Run(gate), StatusIs(StatusCode::kInvalidArgument, HasSubstr("of a gate")));
  const std::string none = first[0] == 'f' ? "0fff" : "ffff";
  EXPECT_THAT(reader.FindId(none + "ffffffffffff"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no record has the id")));
  EXPECT_THAT(reader.FindId("abc"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4 digits")));
  EXPECT_THAT(reader.FindId("abcg"), StatusIs(StatusCode::kInvalidArgument, testing::_));
}

TEST_F(HistoryReaderTest, AnAmbiguousIdIsNoAnswer) {
  RunRecord run = FullRun();
  Add(run);
  run.source_sha256.back() = 'b';
  run.source_sha256[8] = 'b';
  Add(run);
  HistoryReader reader = Open();
  EXPECT_THAT(reader.FindId("aaaaaaaa"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("ambiguous: aaaaaaaaaaaaaaaa, aaaaaaaabaaaaaaa")));
  EXPECT_EQ(reader.FindId("aaaaaaaab").value(), "aaaaaaaabaaaaaaa");
}

TEST_F(HistoryReaderTest, TheNewestVerdictOfEachMetric) {
  Add(TestGate(kTestTime, "slower"));
  GateRecord newer = TestGate(kTestTime + kDay, "same");
  newer.verdicts.resize(1);
  newer.change_points[0].after = 1.02e-6;
  const std::string uid = Add(newer);
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const auto verdicts, reader.NewestVerdicts());
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].gate, uid);
  EXPECT_EQ(verdicts[0].verdict, newer.verdicts[0]);
  EXPECT_EQ(verdicts[1].verdict.metric, "launches");
  EXPECT_EQ(verdicts[1].verdict.new_count, 4);
  EXPECT_EQ(verdicts[1].time, kTestTime);
  EXPECT_TRUE(verdicts[1].advisory);
  EXPECT_THAT(reader.NewestVerdicts({.architecture = "sm_80"}).value(), IsEmpty());
  DM_ASSERT_OK_AND_ASSIGN(const auto gates, reader.Gates());
  ASSERT_EQ(gates.size(), 2u);
  EXPECT_EQ(gates[0].id, uid);
  EXPECT_EQ(gates[1].cases, 2);
  EXPECT_EQ(gates[1].slower, 2);
  EXPECT_EQ(reader.Gates(1).value().size(), 1u);
  DM_ASSERT_OK_AND_ASSIGN(const auto steps, reader.ChangePoints());
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].gate, uid);
  EXPECT_DOUBLE_EQ(steps[0].point.after, 1.02e-6);
  EXPECT_THAT(reader.ChangePoints({.since = "2026-11-29"}).value(), IsEmpty());
}

TEST_F(HistoryReaderTest, TheMatrixHasTheNewestResultOfEachCase) {
  Add(ConformanceRun(kTestTime));
  RunRecord newer = ConformanceRun(kTestTime + kDay);
  newer.conformance.resize(1);
  newer.conformance[0].used_share = 0.25;
  const std::string uid = Add(newer);
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const auto matrix, reader.ConformanceMatrix());
  ASSERT_EQ(matrix.size(), 3u);
  EXPECT_EQ(matrix[0].operation, "draft");
  EXPECT_EQ(matrix[0].waived, 1);
  EXPECT_EQ(matrix[0].failed, 0);
  EXPECT_FALSE(matrix[0].used_share.has_value());
  EXPECT_EQ(matrix[1].operation, "op/embed");
  EXPECT_EQ(matrix[1].failed, 1);
  EXPECT_EQ(matrix[2].operation, "op/rms_norm");
  EXPECT_EQ(matrix[2].architecture, "sm_90");
  EXPECT_EQ(matrix[2].cases, 2);
  EXPECT_DOUBLE_EQ(*matrix[2].used_share, 0.5);
  EXPECT_EQ(matrix[2].worst_case, "op/rms_norm/rows=1,h=8/bf16");
  EXPECT_EQ(matrix[2].run, uid);
  DM_ASSERT_OK_AND_ASSIGN(const auto cases, reader.Conformance("sm_90", "op/rms_norm"));
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_DOUBLE_EQ(*cases[1].result.used_share, 0.25);
  EXPECT_THAT(reader.Conformance("cpu").value(), IsEmpty());
  EXPECT_EQ(reader.Runs({.limit = 1}).value()[0].conformance, 1);
  EXPECT_EQ(reader.Runs().value()[1].conformance_failed, 1);
}

TEST_F(HistoryReaderTest, CountsAndTheirChanges) {
  const std::string case_id = "scratch/dflash_v2/qwen3-8b/ctx_window=4096,nb=8";
  for (int night = 0; night < 4; ++night) {
    RunRecord run = TestRun(1e-6, kTestTime + night * kDay);
    run.points = {{.case_id = case_id, .counts = {{"q", 64}, {"total", night < 2 ? 100 : 101}}}};
    Add(run);
  }
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const auto counts, reader.NewestCounts());
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].field, "q");
  EXPECT_EQ(counts[1].field, "total");
  EXPECT_EQ(counts[1].value, 101);
  EXPECT_EQ(counts[1].night, "2026-12-03");
  EXPECT_EQ(counts[1].series.case_id, case_id);
  DM_ASSERT_OK_AND_ASSIGN(const auto changes, reader.CountChanges(counts[1].series.id, "total"));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].value, 100);
  EXPECT_EQ(changes[1].night, "2026-12-02");
  EXPECT_THAT(reader.CountChanges(counts[1].series.id, "none").value(), IsEmpty());
  EXPECT_THAT(reader.NewestCounts({.since = "2026-12-04"}).value(), IsEmpty());
  // Without a time there is no trend.
  EXPECT_THAT(reader.Nights().value(), IsEmpty());
}

TEST_F(HistoryReaderTest, KeptNightsJoinTheTrend) {
  NightRecord night = TestNight();
  night.points[0].schema = 1;
  Add(night);
  Add(TestRun(9e-6, kTestTime + kDay));
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const auto all, reader.Nights());
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].nights.size(), 2u);
  EXPECT_DOUBLE_EQ(all[0].nights[0].seconds, 1.5e-6);
  EXPECT_DOUBLE_EQ(all[0].nights[0].low, 1.4e-6);
  EXPECT_EQ(all[0].nights[0].runs, 2);
  EXPECT_DOUBLE_EQ(all[0].nights[1].seconds, 9e-6);
  EXPECT_EQ(reader.Nights({.since = "2026-12-01"}).value()[0].nights.size(), 1u);
  EXPECT_EQ(reader.NewestCounts().value()[0].value, 3);
  DM_ASSERT_OK_AND_ASSIGN(const auto nights, reader.NightRuns());
  ASSERT_EQ(nights.size(), 2u);
  EXPECT_THAT(nights[0].runs, IsEmpty());
  EXPECT_EQ(nights[0].commit, "b8a6378");
}

TEST_F(HistoryReaderTest, AaAcceptsReleases) {
  Add(TestAa(kTestTime));
  AaRecord newer = TestAa(kTestTime + kDay);
  newer.results[0].spread = 0.004;
  Add(newer);
  Add(TestAccept(kTestTime + 5));
  AcceptRecord older = TestAccept(kTestTime);
  older.reason = "first";
  Add(older);
  Add(TestRelease());
  HistoryReader reader = Open();
  DM_ASSERT_OK_AND_ASSIGN(const auto aa, reader.AaQuality());
  ASSERT_EQ(aa.size(), 1u);
  EXPECT_EQ(aa[0].comparisons, 100);
  EXPECT_EQ(aa[0].false_alarms, 2);
  EXPECT_DOUBLE_EQ(aa[0].spread, 0.004);
  EXPECT_EQ(reader.AaQuality(kTestTime + 1).value()[0].comparisons, 50);
  DM_ASSERT_OK_AND_ASSIGN(const auto accepts, reader.Accepts());
  ASSERT_EQ(accepts.size(), 2u);
  EXPECT_EQ(accepts[0], older);
  EXPECT_EQ(accepts[1], TestAccept(kTestTime + 5));
  EXPECT_THAT(reader.Releases().value(), ElementsAre(TestRelease()));
}

}  // namespace
}  // namespace draftmark
