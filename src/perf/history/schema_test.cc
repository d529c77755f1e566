#include "src/perf/history/schema.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/record_testing.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class SchemaTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("h.db"); }
  Sqlite Create() { return Sqlite::Open(Database(), SqliteMode::kCreate).value(); }
  void RunSql(const std::string& sql) { ASSERT_THAT(Create().RunScript(sql), IsOk()); }
  std::string Bytes() const { return ReadTextFile(Database()).value(); }

  TestFolder folder_;
};

// All that defines a schema, as SQLite keeps it.
std::string SchemaOf(Sqlite& db) {
  std::string text;
  SqliteRows rows =
      db.Query("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").value();
  while (rows.Next()) text += rows.Text(0) + " " + rows.Text(1) + " " + rows.Text(2) + "\n";
  return text;
}

TEST_F(SchemaTest, ANewDatabaseIsCurrent) {
  Sqlite db = Create();
  ASSERT_THAT(MigrateHistory(db), IsOk());
  ASSERT_THAT(MigrateHistory(db), IsOk());
  EXPECT_THAT(CheckHistorySchema(db), IsOk());
  EXPECT_EQ(db.OneInt("SELECT version FROM schema_version").value(), kHistorySchemaVersion);
  EXPECT_EQ(db.OneInt("PRAGMA application_id").value(), kHistoryApplicationId);
  // Every table of ours is STRICT.
  EXPECT_EQ(db.OneInt("SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND name NOT "
                      "LIKE 'sqlite_%' AND strict = 0")
                .value(),
            0);
  EXPECT_THAT(db.Run("INSERT INTO cases (name) VALUES (x'00')"),
              StatusIs(StatusCode::kInternal, HasSubstr("cannot store BLOB value in TEXT column")));
}

TEST_F(SchemaTest, Version1IsBroughtUpToDateAndKeepsEverything) {
  const std::string sql =
      ReadTextFile(TestData("src/perf/history/testdata/history_v1.sql")).value();
  RunSql(sql);
  EXPECT_THAT(
      HistoryReader::Open(Database()),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("schema_version: expected 2, found 1: `draftmark history rebuild --db ")));
  DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database()));
  EXPECT_THAT(CheckHistorySchema(history.db()), IsOk());
  GateRecord gate = TestGate();
  gate.night = "";
  gate.advisory = false;
  gate.change_points.clear();
  for (const HistoryRecord& record :
       {HistoryRecord(FullRun()), HistoryRecord(ConformanceRun()), HistoryRecord(gate),
        HistoryRecord(TestAa()), HistoryRecord(TestAccept()), HistoryRecord(TestRelease())}) {
    DM_ASSERT_OK_AND_ASSIGN(const RecordText text, RecordToJsonl(record));
    DM_ASSERT_OK_AND_ASSIGN(const HistoryRecord read, ReadRecord(history.db(), text.uid));
    EXPECT_EQ(RecordToJsonl(read).value().text, text.text) << KindOf(record);
    EXPECT_EQ(history.Add(record).value().outcome, AddOutcome::kKnown);
  }
  // Filled by the migration.
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(Database()));
  DM_ASSERT_OK_AND_ASSIGN(const auto matrix, reader.ConformanceMatrix());
  ASSERT_EQ(matrix.size(), 3u);
  EXPECT_EQ(matrix[0].operation, "draft");
  EXPECT_EQ(matrix[1].operation, "op/embed");
  EXPECT_EQ(matrix[2].operation, "op/rms_norm");
  EXPECT_EQ(matrix[2].cases, 2);
  // The same tables as in a new one.
  DM_ASSERT_OK_AND_ASSIGN(Sqlite fresh, Sqlite::Open(folder_.Path("new.db"), SqliteMode::kCreate));
  ASSERT_THAT(MigrateHistory(fresh), IsOk());
  EXPECT_EQ(SchemaOf(history.db()), SchemaOf(fresh));
  EXPECT_THAT(CheckHistory(Database()).value().problems, IsEmpty());
}

TEST_F(SchemaTest, OperationsAreThoseOfTheMigration) {
  for (const auto& [case_id, operation] :
       std::vector<std::pair<std::string, std::string>>{{"op/rms_norm/rows=1/bf16", "op/rms_norm"},
                                                        {"op/x", "op"},
                                                        {"op//x", "op/"},
                                                        {"OP/a/b", "OP"},
                                                        {"draft/a/nb=1", "draft"},
                                                        {"scratch/dflash_v2/a/nb=1", "scratch"},
                                                        {"plain", "plain"}}) {
    EXPECT_EQ(OperationOf(case_id), operation);
    RunSql(ReadTextFile(TestData("src/perf/history/testdata/history_v1.sql")).value());
    RunSql("UPDATE cases SET name = '" + case_id + "' WHERE id = 5");
    Sqlite db = Create();
    ASSERT_THAT(MigrateHistory(db), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(SqliteRows rows,
                            db.Query("SELECT operation FROM conformance WHERE case_id = 5"));
    ASSERT_TRUE(rows.Next());
    EXPECT_EQ(rows.Text(0), operation) << case_id;
    std::filesystem::remove(Database());
  }
}

TEST_F(SchemaTest, ANewerSchemaIsRefusedAndLeftAlone) {
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  RunSql("UPDATE schema_version SET version = 3; PRAGMA wal_checkpoint(TRUNCATE);");
  const std::string before = Bytes();
  const auto refused =
      StatusIs(StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("h.db: schema_version: expected at most 2, found 3"),
                     HasSubstr("a newer draftmark made it")));
  EXPECT_THAT(History::Open(Database()), refused);
  EXPECT_THAT(HistoryReader::Open(Database()), refused);
  EXPECT_THAT(RebuildHistory(Database()), refused);
  EXPECT_THAT(CheckHistory(Database()), refused);
  EXPECT_EQ(Bytes(), before);
}

TEST_F(SchemaTest, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  RunSql("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);");
  const std::string before = Bytes();
  const auto refused =
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("found another program's database"));
  EXPECT_THAT(History::Open(Database()), refused);
  EXPECT_THAT(HistoryReader::Open(Database()), refused);
  EXPECT_THAT(RebuildHistory(Database()), refused);
  EXPECT_EQ(Bytes(), before);
}

// SQLite would leave a journal beside it, and speak of a full disk.
TEST_F(SchemaTest, ADeviceOrAPipeIsNoHistory) {
  ASSERT_EQ(::mkfifo(Database().c_str(), 0600), 0);
  const auto refused = StatusIs(StatusCode::kInvalidArgument,
                                HasSubstr("h.db: expected a database, found a device, a pipe"));
  EXPECT_THAT(History::Open(Database()), refused);
  EXPECT_THAT(RebuildHistory(Database()), refused);
  EXPECT_THAT(RealFileSystem().List(folder_.path()).value(), testing::ElementsAre("h.db"));
}

TEST_F(SchemaTest, AMigrationThatFailsLeavesTheOldVersion) {
  RunSql(ReadTextFile(TestData("src/perf/history/testdata/history_v1.sql")).value());
  // In the way of the last table that the migration makes.
  RunSql("CREATE TABLE replaced_runs (x)");
  EXPECT_THAT(History::Open(Database()),
              StatusIs(StatusCode::kInternal, HasSubstr("replaced_runs already exists")));
  Sqlite db = Create();
  EXPECT_EQ(db.OneInt("SELECT version FROM schema_version").value(), 1);
  EXPECT_EQ(db.OneInt("SELECT count(*) FROM sqlite_schema WHERE name = 'change_points'").value(),
            0);
  ASSERT_THAT(db.Run("DROP TABLE replaced_runs"), IsOk());
  EXPECT_THAT(MigrateHistory(db), IsOk());
}

}  // namespace
}  // namespace draftmark
