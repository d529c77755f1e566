#include "src/perf/history/history_rebuild.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/synthetic_history.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RebuildTest : public testing::Test {
 protected:
  std::string Database(const std::string& name = "h.db") const { return folder_.Path(name); }
  std::string FileOf(const std::string& uid, const std::string& name = "h.db") const {
    return JoinPath(RunsFolderOf(Database(name)), RecordFileName(uid));
  }
  // Every kind, and some nights.
  std::vector<std::string> Fill(const std::string& name = "h.db") {
    StatusOr<History> history = History::Open(Database(name));
    EXPECT_THAT(history, IsOk());
    std::vector<std::string> ids;
    for (const HistoryRecord& record : AllKindsOfRecords()) {
      ids.push_back(history->Add(record).value().uid);
    }
    EXPECT_THAT(FillSyntheticHistory({.cases = 7, .nights = 3, .runs = 2}, history.value()),
                IsOk());
    return ids;
  }
  // Id to text of everything in a database.
  std::map<std::string, std::string> Content(const std::string& name = "h.db") {
    std::map<std::string, std::string> content;
    HistoryReader reader = HistoryReader::Open(Database(name)).value();
    SqliteRows rows = reader.db().Query("SELECT uid FROM records").value();
    while (rows.Next()) {
      content[rows.Text(0)] = RecordToJsonl(reader.Record(rows.Text(0)).value()).value().text;
    }
    return content;
  }

  TestFolder folder_;
};

TEST_F(RebuildTest, TheSameContentAgain) {
  Fill();
  const auto before = Content();
  EXPECT_EQ(before.size(), 7u + 3 * 4);
  // Gone, and then there.
  std::filesystem::remove(Database());
  for (int round = 0; round < 2; ++round) {
    DM_ASSERT_OK_AND_ASSIGN(const RebuildReport report, RebuildHistory(Database()));
    EXPECT_EQ(report.records, before.size());
    EXPECT_EQ(report.restored, 0u);
    EXPECT_EQ(report.moved_aside, "");
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_EQ(Content(), before);
  }
  EXPECT_THAT(CheckHistory(Database()).value().problems, IsEmpty());
  // Nothing else lies about.
  DM_ASSERT_OK_AND_ASSIGN(const auto names, RealFileSystem().List(folder_.path()));
  for (const std::string& name : names) {
    EXPECT_THAT(name, testing::AnyOf("h.db", "h.db.runs", "h.db-wal", "h.db-shm"));
  }
}

// Killed rebuilds leave what they made; that of one which is at work is not touched.
TEST_F(RebuildTest, WhatKilledOnesLeftIsRemoved) {
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  const std::string dead = Database() + ".rebuild-999999999.tmp";  // above every process id
  const std::string alive = fmt::format("{}.rebuild-{}.tmp", Database(), ::getppid());
  const std::string other = Database() + ".rebuild-notes";
  for (const std::string& path : {dead, dead + "-journal", alive, other}) {
    ASSERT_THAT(WriteTextFile(path, "x"), IsOk());
  }
  ASSERT_THAT(RebuildHistory(Database()), IsOk());
  EXPECT_FALSE(RealFileSystem().IsFile(dead));
  EXPECT_FALSE(RealFileSystem().IsFile(dead + "-journal"));
  EXPECT_TRUE(RealFileSystem().IsFile(alive));
  EXPECT_TRUE(RealFileSystem().IsFile(other));
}

TEST_F(RebuildTest, WhileOthersHaveItOpen) {
  Fill();
  DM_ASSERT_OK_AND_ASSIGN(History writer, History::Open(Database()));
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(Database()));
  const std::size_t before = reader.Runs().value().size();
  // Rows that no file stands for go.
  ASSERT_THAT(writer.db().Run("INSERT INTO cases (name) VALUES ('stray')"), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const RebuildReport report, RebuildHistory(Database()));
  EXPECT_EQ(report.moved_aside, "");
  EXPECT_EQ(reader.Runs().value().size(), before);
  EXPECT_EQ(reader.db().OneInt("SELECT count(*) FROM cases WHERE name = 'stray'").value(), 0);
  ASSERT_THAT(writer.Add(TestRun(7e-6)), IsOk());
  EXPECT_EQ(reader.Runs().value().size(), before + 1);
  EXPECT_THAT(CheckHistory(Database()).value().problems, IsEmpty());
}

TEST_F(RebuildTest, FilesThatAreGoneAreWrittenAgain) {
  const std::vector<std::string> ids = Fill();
  const auto before = Content();
  std::filesystem::remove_all(RunsFolderOf(Database()));
  DM_ASSERT_OK_AND_ASSIGN(const CheckReport checked, CheckHistory(Database()));
  EXPECT_EQ(checked.problems.size(), before.size());
  EXPECT_THAT(checked.problems[0], HasSubstr("gone, but in the database"));
  DM_ASSERT_OK_AND_ASSIGN(const RebuildReport report, RebuildHistory(Database()));
  EXPECT_EQ(report.restored, before.size());
  EXPECT_EQ(report.records, before.size());
  for (const std::string& id : ids) EXPECT_EQ(ReadTextFile(FileOf(id)).value(), before.at(id));
  EXPECT_EQ(Content(), before);
}

TEST_F(RebuildTest, DamagedFilesAreLeftOutAndTold) {
  const std::vector<std::string> ids = Fill();
  const std::string text = ReadTextFile(FileOf(ids[0])).value();
  ASSERT_THAT(WriteTextFile(FileOf(ids[0]), text.substr(0, text.size() - 10)), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const CheckReport checked, CheckHistory(Database()));
  EXPECT_THAT(checked.problems,
              ElementsAre(AllOf(HasSubstr(FileOf(ids[0])), HasSubstr("truncated"))));
  std::filesystem::remove(Database());
  DM_ASSERT_OK_AND_ASSIGN(const RebuildReport report, RebuildHistory(Database()));
  EXPECT_THAT(report.problems,
              ElementsAre(AllOf(HasSubstr(FileOf(ids[0])), HasSubstr("truncated"))));
  EXPECT_EQ(report.records, 7u + 3 * 4 - 1);
}

TEST_F(RebuildTest, ADamagedPageIsFoundAndMended) {
  Fill();
  const auto before = Content();
  const std::string good = ReadTextFile(Database()).value();
  int found = 0;
  for (std::size_t page = 1; page < good.size() / 4096; page += 5) {
    std::string bad = good;
    std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(page * 4096 + 8), 600, '\x55');
    ASSERT_THAT(WriteTextFile(Database(), bad), IsOk());
    const auto checked = CheckHistory(Database());
    const bool damaged = !checked.ok() || !checked->problems.empty();
    found += damaged ? 1 : 0;
    DM_ASSERT_OK_AND_ASSIGN(const RebuildReport report, RebuildHistory(Database()));
    EXPECT_EQ(!report.moved_aside.empty(), damaged) << page;
    EXPECT_EQ(report.records, before.size()) << page;
    EXPECT_EQ(Content(), before) << page;
  }
  EXPECT_GT(found, 0);
}

TEST_F(RebuildTest, ContentThatDiffersIsFound) {
  Fill();
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database()));
    ASSERT_THAT(history.db().Run("UPDATE counts SET value = value + 1 WHERE value = 4586572288"),
                IsOk());
    EXPECT_EQ(history.db().ChangedRows(), 1);
  }
  DM_ASSERT_OK_AND_ASSIGN(const CheckReport checked, CheckHistory(Database()));
  EXPECT_THAT(checked.problems, ElementsAre(HasSubstr("the database has another content")));
}

TEST_F(RebuildTest, NothingThere) {
  EXPECT_THAT(RebuildHistory(Database()),
              StatusIs(StatusCode::kNotFound, HasSubstr("h.db: no such history, and no folder")));
  EXPECT_THAT(CheckHistory(Database()), StatusIs(StatusCode::kNotFound, testing::_));
  EXPECT_THAT(RealFileSystem().List(folder_.path()).value(), IsEmpty());
}

// Somebody's report, as --db by mistake: it would lie under another name, and the exit code be 0.
TEST_F(RebuildTest, AFileThatIsNoDatabaseStaysWhereItIs) {
  const std::string report = folder_.Path("report.json");
  ASSERT_THAT(WriteTextFile(report, R"({"benchmarks": []})"), IsOk());
  EXPECT_THAT(RebuildHistory(report),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("report.json: expected a history"),
                             HasSubstr("report.json.runs to make it from"))));
  EXPECT_THAT(RealFileSystem().List(folder_.path()).value(), ElementsAre("report.json"));
}

TEST_F(RebuildTest, MergingInAnyOrderAndTwiceGivesTheSame) {
  Fill("a.db");
  {
    DM_ASSERT_OK_AND_ASSIGN(History b, History::Open(Database("b.db")));
    ASSERT_THAT(b.Add(TestRun(3e-6, kTestTime + 1)), IsOk());
    ASSERT_THAT(b.Add(FullRun()), IsOk());  // which a has as well
  }
  const std::string run = FileOf(RecordToJsonl(TestRun(3e-6, kTestTime + 1)).value().uid, "b.db");
  DM_ASSERT_OK_AND_ASSIGN(History one, History::Open(Database("one.db")));
  DM_ASSERT_OK_AND_ASSIGN(MergeReport report,
                          MergeHistory(one, {Database("a.db"), RunsFolderOf(Database("b.db"))}));
  EXPECT_EQ(report.added, 7u + 3 * 4 + 1);
  EXPECT_EQ(report.known, 1u);
  EXPECT_THAT(report.problems, IsEmpty());
  DM_ASSERT_OK_AND_ASSIGN(report, MergeHistory(one, {Database("a.db")}));
  EXPECT_EQ(report.added, 0u);
  DM_ASSERT_OK_AND_ASSIGN(History other, History::Open(Database("other.db")));
  ASSERT_THAT(MergeHistory(other, {run, RunsFolderOf(Database("a.db"))}), IsOk());
  EXPECT_EQ(Content("one.db"), Content("other.db"));
  EXPECT_THAT(CheckHistory(Database("one.db")).value().problems, IsEmpty());
}

TEST_F(RebuildTest, MergeLeavesOutWhatItCannotTake) {
  Fill("a.db");
  RunRecord conflict = FullRun();
  conflict.commit = "other";
  const std::string text = RecordToJsonl(conflict).value().text;
  const std::string folder = folder_.Path("in");
  ASSERT_THAT(RealFileSystem().CreateDirectories(folder), IsOk());
  ASSERT_THAT(WriteTextFile(folder + "/conflict.jsonl", text), IsOk());
  ASSERT_THAT(WriteTextFile(folder + "/cut.jsonl", text.substr(0, 100)), IsOk());
  ASSERT_THAT(WriteTextFile(folder + "/good.jsonl", RecordToJsonl(TestRun(9e-6)).value().text),
              IsOk());
  ASSERT_THAT(WriteTextFile(folder + "/other.txt", "x"), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database("a.db")));
  const auto before = Content("a.db");
  DM_ASSERT_OK_AND_ASSIGN(const MergeReport report, MergeHistory(history, {folder}));
  EXPECT_EQ(report.added, 1u);
  EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("conflict.jsonl"),
                                                 HasSubstr("another record with this id")),
                                           AllOf(HasSubstr("cut.jsonl"), HasSubstr("truncated"))));
  EXPECT_EQ(Content("a.db").size(), before.size() + 1);
  // Of a list with a wrong path nothing is taken in.
  ASSERT_THAT(WriteTextFile(folder + "/more.jsonl", RecordToJsonl(TestRun(8e-6)).value().text),
              IsOk());
  EXPECT_THAT(MergeHistory(history, {folder, folder_.Path("none")}),
              StatusIs(StatusCode::kNotFound, testing::_));
  EXPECT_EQ(Content("a.db").size(), before.size() + 1);
  EXPECT_THAT(MergeHistory(history, {folder_.Path("none")}),
              StatusIs(StatusCode::kNotFound, HasSubstr("none: expected a .jsonl file")));
}

TEST_F(RebuildTest, MergeTellsOfAFolderThatHasNoRecords) {
  DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database("a.db")));
  // The folder in which a history lies, instead of the history.
  ASSERT_THAT(RealFileSystem().CreateDirectories(folder_.Path("machine/h.db.runs")), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(MergeReport report, MergeHistory(history, {folder_.Path("machine")}));
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("machine: expected .jsonl files, or the folder NAME.runs")));
  // One that has no records yet.
  for (const char* const slash : {"", "/"}) {
    DM_ASSERT_OK_AND_ASSIGN(report,
                            MergeHistory(history, {folder_.Path("machine/h.db.runs") + slash}));
    EXPECT_THAT(report.problems, IsEmpty());
  }
}

}  // namespace
}  // namespace draftmark
