#include "src/perf/history/history.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/base/faulty_file_system.h"
#include "src/base/file_system.h"
#include "src/base/stale_temporaries_testing.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/record_testing.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HistoryTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("history.db"); }
  std::string FileOf(const std::string& uid) const {
    return JoinPath(RunsFolderOf(Database()), RecordFileName(uid));
  }
  History Open() {
    StatusOr<History> history = History::Open(Database());
    EXPECT_THAT(history, IsOk());
    return std::move(history).value();
  }
  static std::int64_t Count(History& history, const std::string& table) {
    return history.db().OneInt("SELECT count(*) FROM " + table).value().value();
  }

  TestFolder folder_;
};

TEST_F(HistoryTest, EveryKindComesBackAsItsFileHasIt) {
  History history = Open();
  for (const HistoryRecord& record : AllKindsOfRecords()) {
    DM_ASSERT_OK_AND_ASSIGN(const Added added, history.Add(record));
    EXPECT_EQ(added.outcome, AddOutcome::kAdded);
    DM_ASSERT_OK_AND_ASSIGN(const HistoryRecord read, ReadRecord(history.db(), added.uid));
    HistoryRecord canonical = record;
    Canonicalize(canonical);
    EXPECT_TRUE(read == canonical) << KindOf(record);
    DM_ASSERT_OK_AND_ASSIGN(const std::string text, ReadTextFile(FileOf(added.uid)));
    EXPECT_EQ(RecordToJsonl(read).value().text, text);
    EXPECT_EQ(RecordToJsonl(read).value().uid, added.uid);
  }
  EXPECT_EQ(Count(history, "records"), 7);
}

TEST_F(HistoryTest, WhatAKilledWriterLeftIsClearedByTheNext) {
  (void)Open();
  const std::string stale = LeaveStaleTemporary(RunsFolderOf(Database()));
  (void)Open();
  EXPECT_FALSE(RealFileSystem().IsFile(stale));
}

TEST_F(HistoryTest, AddingAgainChangesNothing) {
  for (int round = 0; round < 2; ++round) {
    History history = Open();
    EXPECT_EQ(history.recovered(), 0u);
    for (const HistoryRecord& record : AllKindsOfRecords()) {
      DM_ASSERT_OK_AND_ASSIGN(const Added added, history.Add(record));
      EXPECT_EQ(added.outcome, round == 0 ? AddOutcome::kAdded : AddOutcome::kKnown);
    }
    EXPECT_EQ(Count(history, "records"), 7);
    EXPECT_EQ(Count(history, "points"), 4);
  }
}

TEST_F(HistoryTest, TheSameSourceWithOtherFactsIsRefused) {
  History history = Open();
  RunRecord run = FullRun();
  DM_ASSERT_OK_AND_ASSIGN(const Added added, history.Add(run));
  run.environment.clocks = "locked";
  EXPECT_THAT(history.Add(run),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(FileOf(added.uid)), HasSubstr("what is there stays"))));
  std::filesystem::remove(FileOf(added.uid));
  EXPECT_THAT(history.Add(run), StatusIs(StatusCode::kFailedPrecondition, testing::_));
  EXPECT_FALSE(RealFileSystem().IsFile(FileOf(added.uid)));
  // The file that is gone comes back.
  EXPECT_THAT(history.Add(FullRun()), IsOk());
  EXPECT_TRUE(RealFileSystem().IsFile(FileOf(added.uid)));
}

TEST_F(HistoryTest, TakesInWhatOnlyTheFolderHas) {
  std::string uid;
  {
    History history = Open();
    uid = history.Add(TestRun()).value().uid;
    ASSERT_THAT(history.Add(TestGate()), IsOk());
    ASSERT_THAT(history.db().Run("DELETE FROM records WHERE uid = ?", uid), IsOk());
    EXPECT_EQ(Count(history, "points"), 0);
  }
  History history = Open();
  EXPECT_EQ(history.recovered(), 1u);
  EXPECT_THAT(history.problems(), IsEmpty());
  EXPECT_EQ(Count(history, "points"), 1);
  EXPECT_THAT(ReadRecord(history.db(), uid), IsOk());
}

TEST_F(HistoryTest, FilesThatAreNoRecordsAreToldAndLeft) {
  const std::string good = RecordToJsonl(TestRun()).value().text;
  { const History made = Open(); }
  const std::string cut = FileOf("00000000000000aa");
  const std::string misnamed = FileOf("00000000000000bb");
  ASSERT_THAT(WriteTextFile(cut, good.substr(0, good.size() / 2)), IsOk());
  ASSERT_THAT(WriteTextFile(misnamed, good), IsOk());
  ASSERT_THAT(WriteTextFile(RunsFolderOf(Database()) + "/notes.txt", "mine"), IsOk());
  History history = Open();
  EXPECT_EQ(history.recovered(), 0u);
  EXPECT_THAT(history.problems(),
              ElementsAre(AllOf(HasSubstr(cut), HasSubstr("truncated")),
                          AllOf(HasSubstr(misnamed), HasSubstr("expected the name"))));
  EXPECT_TRUE(RealFileSystem().IsFile(cut));
  EXPECT_THAT(history.Add(TestRun(2e-6)), IsOk());
}

TEST_F(HistoryTest, ANightTakesThePlaceOfItsRuns) {
  const RecordText first = RecordToJsonl(TestRun(1e-6, kTestTime, 0)).value();
  const RecordText second = RecordToJsonl(TestRun(2e-6, kTestTime, 1)).value();
  NightRecord night = TestNight();
  night.replaces = {first.uid, second.uid};
  // Whichever comes first.
  for (const bool run_first : {true, false}) {
    const TestFolder folder;
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(folder.Path("h.db")));
    if (run_first) {
      ASSERT_THAT(history.AddText(first.text, "first"), IsOk());
    }
    ASSERT_THAT(history.Add(TestRun(5e-6, kTestTime, 9)), IsOk());
    ASSERT_THAT(history.Add(night), IsOk());
    EXPECT_EQ(history.AddText(second.text, "second").value().outcome, AddOutcome::kReplaced);
    EXPECT_EQ(history.AddText(first.text, "first").value().outcome, AddOutcome::kReplaced);
    EXPECT_EQ(Count(history, "runs"), 1);  // the one that is not of the night
    EXPECT_EQ(Count(history, "points"), 1);
    EXPECT_FALSE(RealFileSystem().IsFile(JoinPath(history.folder(), RecordFileName(second.uid))));
  }
}

TEST_F(HistoryTest, NoFileNoRow) {
  for (const PlantedFault fault : {PlantedFault{.fail_append = 0}, PlantedFault{.short_append = 0},
                                   PlantedFault{.fail_commit = true}}) {
    FaultyFileSystem files(fault);
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database(), files));
    EXPECT_THAT(history.Add(TestRun()),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("planted full disk")));
    EXPECT_EQ(Count(history, "records"), 0);
    EXPECT_THAT(RealFileSystem().List(history.folder()).value(), IsEmpty());
  }
  History history = Open();
  EXPECT_THAT(history.Add(TestRun()), IsOk());
}

TEST_F(HistoryTest, RefusesWhatIsNoRecord) {
  History history = Open();
  RunRecord run = TestRun();
  run.environment.architecture = "";
  EXPECT_THAT(history.Add(run),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("architecture: expected a text")));
  EXPECT_THAT(RealFileSystem().List(history.folder()).value(), IsEmpty());
  EXPECT_THAT(History::Open(""), StatusIs(StatusCode::kInvalidArgument, testing::_));
  EXPECT_THAT(History::Open(":memory:"), StatusIs(StatusCode::kInvalidArgument, testing::_));
  EXPECT_THAT(History::Open(folder_.Path("none/h.db")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none/h.db")));
}

}  // namespace
}  // namespace draftmark
