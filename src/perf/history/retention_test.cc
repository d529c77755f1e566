#include "src/perf/history/retention.h"

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/synthetic_history.h"

namespace draftmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr SyntheticSize kSize = {.cases = 6, .nights = 10, .runs = 3};

class RetentionTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("h.db"); }
  History Open() {
    StatusOr<History> history = History::Open(Database());
    EXPECT_THAT(history, IsOk());
    return std::move(history).value();
  }
  std::vector<NightSeries> Nights() {
    return HistoryReader::Open(Database()).value().Nights().value();
  }
  std::size_t Files() const {
    return RealFileSystem().List(RunsFolderOf(Database())).value().size();
  }

  TestFolder folder_;
};

TEST_F(RetentionTest, TrendsStayAndRunsGo) {
  History history = Open();
  ASSERT_THAT(FillSyntheticHistory(kSize, history), IsOk());
  const std::vector<NightSeries> before = Nights();
  const auto counts_before = HistoryReader::Open(Database()).value().NewestCounts().value();
  const std::size_t files_before = Files();
  EXPECT_EQ(files_before, 10u * 5);
  DM_ASSERT_OK_AND_ASSIGN(const RetentionPlan plan, PlanRetention(history, {.nights = 4}));
  ASSERT_EQ(plan.nights.size(), 6u);
  EXPECT_EQ(plan.nights[0].night, "2025-09-01");
  EXPECT_EQ(plan.nights[5].night, "2025-09-06");
  EXPECT_EQ(plan.nights[0].runs.size(), 3u);
  EXPECT_EQ(plan.nights[0].points, 18);
  EXPECT_EQ(Files(), files_before);  // a plan changes nothing

  DM_ASSERT_OK_AND_ASSIGN(const RetentionReport done, ApplyRetention(history, plan, ""));
  EXPECT_EQ(done.written.size(), 6u);
  EXPECT_EQ(done.dropped.size(), 18u);
  EXPECT_EQ(Files(), files_before - 18 + 6);
  const std::vector<NightSeries> after = Nights();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].series.case_id, before[i].series.case_id);
    ASSERT_EQ(after[i].nights.size(), 10u);
    for (std::size_t n = 0; n < 10; ++n) {
      const NightValue& a = after[i].nights[n];
      const NightValue& b = before[i].nights[n];
      EXPECT_EQ(a.day, b.day);
      EXPECT_EQ(a.seconds, b.seconds);
      EXPECT_EQ(a.low, b.low);
      EXPECT_EQ(a.high, b.high);
      EXPECT_EQ(a.runs, 3);
      EXPECT_EQ(a.samples, b.samples);
      EXPECT_EQ(a.floor_share, b.floor_share);
    }
  }
  HistoryReader reader = HistoryReader::Open(Database()).value();
  EXPECT_EQ(reader.Runs().value().size(), 4u * 3 + 10);  // and every conformance run
  EXPECT_EQ(reader.Gates().value().size(), 10u);
  EXPECT_EQ(reader.NewestCounts().value().size(), counts_before.size());
  EXPECT_THAT(CheckHistory(Database()).value().problems, IsEmpty());
  // What is gone does not come back.
  DM_ASSERT_OK_AND_ASSIGN(const RebuildReport rebuilt, RebuildHistory(Database()));
  EXPECT_EQ(rebuilt.restored, 0u);
  EXPECT_EQ(history.Add(SyntheticRun(kSize, 0, 0)).value().outcome, AddOutcome::kReplaced);
  EXPECT_EQ(Nights()[0].nights.size(), 10u);
  EXPECT_THAT(PlanRetention(history, {.nights = 4}).value().nights, IsEmpty());
}

TEST_F(RetentionTest, Archive) {
  History history = Open();
  ASSERT_THAT(FillSyntheticHistory({.cases = 2, .nights = 2, .runs = 1}, history), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const RetentionPlan plan, PlanRetention(history, {.nights = 1}));
  ASSERT_EQ(plan.nights.size(), 1u);
  const std::string name = RecordFileName(plan.nights[0].runs[0]);
  const std::string text = ReadTextFile(JoinPath(history.folder(), name)).value();
  const std::string archive = folder_.Path("old/deep");
  ASSERT_THAT(ApplyRetention(history, plan, archive), IsOk());
  EXPECT_EQ(ReadTextFile(JoinPath(archive, name)).value(), text);
  EXPECT_FALSE(RealFileSystem().IsFile(JoinPath(history.folder(), name)));
}

// A file that is moved to itself would be gone.
TEST_F(RetentionTest, TheFolderOfTheRecordsIsNoArchive) {
  History history = Open();
  ASSERT_THAT(FillSyntheticHistory({.cases = 2, .nights = 2, .runs = 1}, history), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const RetentionPlan plan, PlanRetention(history, {.nights = 1}));
  const std::size_t files = Files();
  std::filesystem::create_directory_symlink(history.folder(), folder_.Path("link"));
  for (const std::string& archive :
       {history.folder(), history.folder() + "/.", folder_.Path("link")}) {
    EXPECT_THAT(
        ApplyRetention(history, plan, archive),
        StatusIs(StatusCode::kInvalidArgument,
                 HasSubstr(archive + ": expected a folder for the archive, found that of")));
    EXPECT_EQ(Files(), files);
  }
  EXPECT_EQ(PlanRetention(history, {.nights = 1}).value().nights.size(), 1u);
}

TEST_F(RetentionTest, AnArchiveThatCannotBeWrittenKeepsTheFiles) {
  History history = Open();
  ASSERT_THAT(FillSyntheticHistory({.cases = 2, .nights = 2, .runs = 1}, history), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const RetentionPlan plan, PlanRetention(history, {.nights = 1}));
  const std::size_t files = Files();
  ASSERT_THAT(WriteTextFile(folder_.Path("file"), "x"), IsOk());
  EXPECT_FALSE(ApplyRetention(history, plan, folder_.Path("file/sub")).ok());
  EXPECT_EQ(Files(), files);
  EXPECT_EQ(PlanRetention(history, {.nights = 1}).value().nights.size(), 1u);
}

TEST_F(RetentionTest, Rules) {
  History history = Open();
  ASSERT_THAT(FillSyntheticHistory(kSize, history), IsOk());
  RunRecord other = SyntheticRun(kSize, 0, 0);
  other.environment.gpu = "NVIDIA L4";
  ASSERT_THAT(history.Add(other), IsOk());
  // Each machine has its own newest nights.
  EXPECT_EQ(PlanRetention(history, {.nights = 9}).value().nights.size(), 1u);
  EXPECT_THAT(PlanRetention(history, {.nights = 10}).value().nights, IsEmpty());
  EXPECT_EQ(PlanRetention(history, {.first_day = "2025-09-03"}).value().nights.size(), 3u);
  // Both rules must let it go.
  EXPECT_EQ(PlanRetention(history, {.nights = 9, .first_day = "2025-09-03"}).value().nights.size(),
            1u);
  EXPECT_EQ(PlanRetention(history, {.nights = 1, .first_day = "2025-09-03"}).value().nights.size(),
            2u);
  EXPECT_THAT(PlanRetention(history, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("how many")));
  EXPECT_THAT(PlanRetention(history, {.first_day = "x"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected a day")));
}

TEST_F(RetentionTest, InvalidRunsDoNotCount) {
  RunRecord good = TestRun(2e-6);
  RunRecord bad = TestRun(9e-6, kTestTime, 1);
  bad.valid = false;
  bad.reason = "noisy";
  RunRecord last = TestRun(4e-6, kTestTime + 60, 2);
  good.points[0].counts = {{"launches", 1}};
  last.points[0].counts = {{"launches", 2}};
  last.commit = "later";
  RunRecord failed = TestRun();
  failed.points = {{.case_id = "op/failed", .failure = "x"}};
  const NightRecord night = SummarizeNight({last, bad, good, failed}, {"1", "2", "3", "4"});
  ASSERT_EQ(night.points.size(), 1u);
  EXPECT_EQ(night.points[0].runs, 2);
  EXPECT_DOUBLE_EQ(*night.points[0].seconds, 3e-6);
  EXPECT_DOUBLE_EQ(*night.points[0].high, 4e-6);
  EXPECT_EQ(night.points[0].counts[0].second, 2);
  EXPECT_EQ(night.commit, "later");
  EXPECT_EQ(night.time, kTestTime + 60);
}

// Killed after the night record was written, before the files went.
TEST_F(RetentionTest, GoesOnAfterAKill) {
  History history = Open();
  ASSERT_THAT(FillSyntheticHistory({.cases = 2, .nights = 3, .runs = 2}, history), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const RetentionPlan plan, PlanRetention(history, {.nights = 1}));
  std::vector<RunRecord> runs;
  for (const std::string& uid : plan.nights[0].runs) {
    runs.push_back(std::get<RunRecord>(ReadRecord(history.db(), uid).value()));
  }
  ASSERT_THAT(history.Add(SummarizeNight(runs, plan.nights[0].runs)), IsOk());
  EXPECT_EQ(CheckHistory(Database()).value().problems.size(), 2u);
  EXPECT_EQ(RebuildHistory(Database()).value().replaced, 2u);
  DM_ASSERT_OK_AND_ASSIGN(const RetentionPlan rest, PlanRetention(history, {.nights = 1}));
  EXPECT_EQ(rest.leftovers.size(), 2u);
  EXPECT_EQ(rest.nights.size(), 1u);
  DM_ASSERT_OK_AND_ASSIGN(const RetentionReport done, ApplyRetention(history, rest, ""));
  EXPECT_EQ(done.dropped.size(), 4u);
  EXPECT_THAT(CheckHistory(Database()).value().problems, IsEmpty());
  EXPECT_EQ(Nights()[0].nights.size(), 3u);
}

TEST_F(RetentionTest, ARunThatComesLaterJoinsItsNight) {
  History history = Open();
  ASSERT_THAT(history.Add(TestRun(2e-6, kTestTime, 0)), IsOk());
  ASSERT_THAT(history.Add(TestRun(4e-6, kTestTime, 1)), IsOk());
  ASSERT_THAT(history.Add(TestRun(1e-6, kTestTime + 86400, 2)), IsOk());
  ASSERT_THAT(ApplyRetention(history, PlanRetention(history, {.nights = 1}).value(), ""), IsOk());
  ASSERT_THAT(history.Add(TestRun(9e-6, kTestTime, 3)), IsOk());
  const NightValue night = Nights()[0].nights[0];
  EXPECT_EQ(Nights()[0].nights.size(), 2u);
  EXPECT_EQ(night.runs, 3);
  EXPECT_DOUBLE_EQ(night.seconds, 5e-6);  // 2 x 3 us and 1 x 9 us
  EXPECT_DOUBLE_EQ(night.low, 2e-6);
  EXPECT_DOUBLE_EQ(night.high, 9e-6);
  // And a second retention of the night is another record of it.
  ASSERT_THAT(ApplyRetention(history, PlanRetention(history, {.nights = 1}).value(), ""), IsOk());
  EXPECT_DOUBLE_EQ(Nights()[0].nights[0].seconds, 5e-6);
  EXPECT_THAT(CheckHistory(Database()).value().problems, IsEmpty());
}

}  // namespace
}  // namespace draftmark
