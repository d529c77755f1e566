// Records that are taken out and brought back: nothing brings them back by accident, and whoever is
// killed meanwhile leaves a history that comes to one of the two.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/base/faulty_file_system.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/fork_testing.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/tombstone.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kWhy[] = "the GPU was shared";
constexpr char kDay[] = "2026-11-30";

class HistoryDropTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("h.db"); }
  std::string FileOf(const std::string& uid) const {
    return JoinPath(RunsFolderOf(Database()), RecordFileName(uid));
  }
  History Open() const {
    StatusOr<History> history = History::Open(Database());
    EXPECT_THAT(history, IsOk());
    return std::move(history).value();
  }
  static std::int64_t Records(History& history) {
    return history.db().OneInt("SELECT count(*) FROM records").value().value();
  }
  std::vector<std::string> Faults() const {
    const StatusOr<CheckReport> checked = CheckHistory(Database());
    EXPECT_THAT(checked, IsOk());
    return checked->problems;
  }
  // One run of two, dropped; its id.
  std::string DropOne() const {
    History history = Open();
    std::string uid = history.Add(TestRun()).value().uid;
    EXPECT_THAT(history.Add(TestRun(2e-6)), IsOk());
    EXPECT_THAT(history.Drop(uid, kWhy, kDay), IsOk());
    return uid;
  }
  static bool IsFile(const std::string& path) { return RealFileSystem().IsFile(path); }

  TestFolder folder_;
};

TEST_F(HistoryDropTest, IsFoundByTheBeginningOfItsId) {
  ASSERT_THAT(RealFileSystem().CreateDirectories(DroppedFolderOf(Database())), IsOk());
  for (const char* const uid : {"00c0ffee00000001", "00c0ffee00000002", "feed000000000000"}) {
    const Tombstone tombstone = {.uid = uid, .date = kDay, .reason = kWhy};
    EXPECT_THAT(WriteTombstone(Database(), tombstone, RealFileSystem()), IsOk());
  }
  const auto find = [this](const std::string& prefix) { return FindDropped(Database(), prefix); };
  EXPECT_EQ(find("feed").value(), "feed000000000000");
  EXPECT_EQ(find("00c0ffee00000002").value(), "00c0ffee00000002");
  EXPECT_THAT(find("00c0"), StatusIs(StatusCode::kInvalidArgument,
                                     HasSubstr("ambiguous: 00c0ffee00000001, 00c0ffee00000002")));
  EXPECT_THAT(find("beef"), StatusIs(StatusCode::kNotFound, HasSubstr("has the id beef")));
  for (const char* const no_id : {"", "fee", "FEED", "fee*"}) {
    EXPECT_THAT(find(no_id), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4 digits or more")));
  }
}

TEST_F(HistoryDropTest, NothingBringsItBack) {
  const RecordText text = RecordToJsonl(TestRun()).value();
  const std::string uid = DropOne();
  ASSERT_EQ(uid, text.uid);
  EXPECT_FALSE(IsFile(FileOf(uid)));
  EXPECT_EQ(ReadTextFile(DroppedRecordPath(Database(), uid)).value(), text.text);
  EXPECT_EQ(ReadTextFile(TombstonePath(Database(), uid)).value(),
            R"({"draftmark_tombstone":1,"id":")" + uid +
                R"(","date":"2026-11-30","reason":"the GPU was shared"})"
                "\n");
  {
    History history = Open();
    EXPECT_EQ(history.recovered(), 0u);
    EXPECT_EQ(Records(history), 1);
    EXPECT_EQ(history.Add(TestRun()).value().outcome, AddOutcome::kDropped);
    EXPECT_EQ(history.AddText(text.text, "x").value().outcome, AddOutcome::kDropped);
    EXPECT_FALSE(IsFile(FileOf(uid)));
    const TestFolder other;
    DM_ASSERT_OK_AND_ASSIGN(History from, History::Open(other.Path("o.db")));
    ASSERT_THAT(from.Add(TestRun()), IsOk());
    ASSERT_THAT(from.Add(TestRun(2e-6)), IsOk());
    DM_ASSERT_OK_AND_ASSIGN(const MergeReport merged, MergeHistory(history, {other.Path("o.db")}));
    EXPECT_EQ(merged.dropped, 1u);
    EXPECT_EQ(merged.known, 1u);
    EXPECT_EQ(merged.added, 0u);
    // What the other machine merges of ours is not taken from it.
    DM_ASSERT_OK_AND_ASSIGN(const MergeReport back, MergeHistory(from, {Database()}));
    EXPECT_EQ(back.known, 1u);
    EXPECT_EQ(Records(from), 2);
  }
  EXPECT_THAT(Faults(), IsEmpty());
  DM_ASSERT_OK_AND_ASSIGN(const RebuildReport rebuilt, RebuildHistory(Database()));
  EXPECT_EQ(rebuilt.records, 1u);
  // Nor does its file, put where it was, with a database or without.
  ASSERT_THAT(WriteTextFile(FileOf(uid), text.text), IsOk());
  std::filesystem::remove(Database());
  EXPECT_EQ(RebuildHistory(Database()).value().records, 1u);
  History history = Open();
  EXPECT_EQ(Records(history), 1);
  EXPECT_FALSE(IsFile(FileOf(uid)));
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(HistoryDropTest, RestoreBringsItBackByteByByte) {
  const std::string uid = DropOne();
  History history = Open();
  EXPECT_EQ(history.Restore(uid).value().outcome, AddOutcome::kAdded);
  EXPECT_EQ(Records(history), 2);
  EXPECT_EQ(ReadTextFile(FileOf(uid)).value(), RecordToJsonl(TestRun()).value().text);
  EXPECT_THAT(RealFileSystem().List(DroppedFolderOf(Database())).value(), IsEmpty());
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(history.Add(TestRun()).value().outcome, AddOutcome::kKnown);
  EXPECT_THAT(history.Restore(uid), StatusIs(StatusCode::kNotFound, HasSubstr("is not dropped")));
  // And out again, and in.
  EXPECT_THAT(history.Drop(uid, "again", kDay), IsOk());
  EXPECT_EQ(history.Restore(uid).value().outcome, AddOutcome::kAdded);
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(HistoryDropTest, EveryKindButANight) {
  History history = Open();
  for (const HistoryRecord& record : AllKindsOfRecords()) {
    const std::string uid = history.Add(record).value().uid;
    if (KindOf(record) == "night") {
      EXPECT_THAT(history.Drop(uid, kWhy, kDay),
                  StatusIs(StatusCode::kFailedPrecondition, HasSubstr("it stays")));
      continue;
    }
    EXPECT_THAT(history.Drop(uid, kWhy, kDay), IsOk()) << KindOf(record);
    EXPECT_EQ(history.Add(record).value().outcome, AddOutcome::kDropped);
  }
  EXPECT_EQ(Records(history), 1);
  EXPECT_THAT(DroppedIds(Database()).value(), SizeIs(6));
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(HistoryDropTest, WhatIsRefusedChangesNothing) {
  History history = Open();
  const std::string uid = history.Add(TestRun()).value().uid;
  for (const std::string& reason : {std::string(), std::string("  "), std::string("a\nb"),
                                    std::string("\xff"), std::string(1001, 'x')}) {
    EXPECT_THAT(history.Drop(uid, reason, kDay),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("reason: expected")));
  }
  EXPECT_THAT(history.Drop("0123456789abcdef", kWhy, kDay),
              StatusIs(StatusCode::kNotFound, HasSubstr("no record has the id")));
  EXPECT_EQ(Records(history), 1);
  EXPECT_FALSE(std::filesystem::exists(DroppedFolderOf(Database())));
  // Twice is once; the first reason stays.
  EXPECT_THAT(history.Drop(uid, kWhy, kDay), IsOk());
  EXPECT_EQ(history.Drop(uid, "other", "2027-01-01").value().reason, kWhy);
}

TEST_F(HistoryDropTest, AFileThatIsGoneIsWrittenFromTheRows) {
  History history = Open();
  const std::string uid = history.Add(TestRun()).value().uid;
  std::filesystem::remove(FileOf(uid));
  ASSERT_THAT(history.Drop(uid, kWhy, kDay), IsOk());
  EXPECT_EQ(ReadTextFile(DroppedRecordPath(Database(), uid)).value(),
            RecordToJsonl(TestRun()).value().text);
  EXPECT_EQ(history.Restore(uid).value().outcome, AddOutcome::kAdded);
}

TEST_F(HistoryDropTest, AFullDiskChangesNothing) {
  std::string uid;
  { uid = Open().Add(TestRun()).value().uid; }
  for (const PlantedFault fault : {PlantedFault{.fail_append = 0}, PlantedFault{.short_append = 0},
                                   PlantedFault{.fail_commit = true}}) {
    FaultyFileSystem files(fault);
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database(), files));
    EXPECT_THAT(history.Drop(uid, kWhy, kDay),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("planted full disk")));
    EXPECT_EQ(Records(history), 1);
    EXPECT_TRUE(IsFile(FileOf(uid)));
    EXPECT_FALSE(IsDropped(Database(), uid));
  }
  EXPECT_THAT(Faults(), IsEmpty());
}

// What a drop or a restore that is killed leaves, step by step; check names it, and the next
// command that opens the history brings it to its end.
TEST_F(HistoryDropTest, EveryHalfComesToItsEnd) {
  const std::string uid = DropOne();
  const std::string text = RecordToJsonl(TestRun()).value().text;
  const std::string tombstone = ReadTextFile(TombstonePath(Database(), uid)).value();
  // Dropped, but rows and file are still there.
  { ASSERT_THAT(Open().Restore(uid), IsOk()); }
  ASSERT_THAT(WriteTextFile(TombstonePath(Database(), uid), tombstone), IsOk());
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("dropped, but still there")));
  {
    History history = Open();
    EXPECT_EQ(Records(history), 1);
    EXPECT_TRUE(IsFile(DroppedRecordPath(Database(), uid)));
    EXPECT_FALSE(IsFile(FileOf(uid)));
  }
  EXPECT_THAT(Faults(), IsEmpty());
  // Dropped, and the file was not moved.
  std::filesystem::rename(DroppedRecordPath(Database(), uid), FileOf(uid));
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("dropped, but still there")));
  { EXPECT_EQ(Open().recovered(), 0u); }
  EXPECT_THAT(Faults(), IsEmpty());
  // Restored, but neither in the folder nor in the database.
  std::filesystem::remove(TombstonePath(Database(), uid));
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("restored by half")));
  {
    History history = Open();
    EXPECT_EQ(history.recovered(), 1u);
    EXPECT_EQ(Records(history), 2);
  }
  EXPECT_EQ(ReadTextFile(FileOf(uid)).value(), text);
  EXPECT_THAT(Faults(), IsEmpty());
  // Restored, and the copy was not removed.
  ASSERT_THAT(WriteTextFile(DroppedRecordPath(Database(), uid), text), IsOk());
  { EXPECT_EQ(Open().recovered(), 0u); }
  EXPECT_FALSE(IsFile(DroppedRecordPath(Database(), uid)));
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(HistoryDropTest, DamagedFilesAreToldAndDropAllTheSame) {
  const std::string uid = DropOne();
  const std::string tombstone = ReadTextFile(TombstonePath(Database(), uid)).value();
  for (const std::string& bad :
       {std::string(), tombstone.substr(0, 20), std::string("[]"),
        std::string(R"({"draftmark_tombstone":2,"id":"x"})"),
        std::string(R"({"draftmark_tombstone":1,"id":"0000000000000000","date":"2026-11-30",)"
                    R"("reason":"x"})")}) {
    ASSERT_THAT(WriteTextFile(TombstonePath(Database(), uid), bad), IsOk());
    EXPECT_THAT(Faults(), ElementsAre(HasSubstr(uid + ".tombstone"))) << bad;
    History history = Open();
    EXPECT_EQ(Records(history), 1);
    EXPECT_EQ(history.Add(TestRun()).value().outcome, AddOutcome::kDropped);
  }
  ASSERT_THAT(WriteTextFile(TombstonePath(Database(), uid), tombstone), IsOk());
  ASSERT_THAT(WriteTextFile(DroppedRecordPath(Database(), uid), "cut"), IsOk());
  History history = Open();
  EXPECT_THAT(history.Restore(uid), StatusIs(StatusCode::kDataLoss, HasSubstr(uid + ".jsonl")));
  EXPECT_TRUE(IsDropped(Database(), uid));
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(uid + ".jsonl")));
}

// Nothing is even written of what is out.
TEST_F(HistoryDropTest, AddingWhatIsOutWritesNothing) {
  DropOne();
  FaultyFileSystem full({.fail_append = 0});
  DM_ASSERT_OK_AND_ASSIGN(History of_full_disk, History::Open(Database(), full));
  EXPECT_EQ(of_full_disk.Add(TestRun()).value().outcome, AddOutcome::kDropped);
}

// Drops a record just when its file is about to be written.
class DroppingFileSystem : public FaultyFileSystem {
 public:
  explicit DroppingFileSystem(std::string database)
      : FaultyFileSystem({}), database_(std::move(database)) {}

  StatusOr<std::unique_ptr<AtomicFile>> CreateAtomic(const std::string& path) override {
    const std::string uid = std::filesystem::path(path).stem().string();
    EXPECT_THAT(RealFileSystem().CreateDirectories(DroppedFolderOf(database_)), IsOk());
    EXPECT_THAT(
        WriteTombstone(database_, {.uid = uid, .date = kDay, .reason = kWhy}, RealFileSystem()),
        IsOk());
    return FaultyFileSystem::CreateAtomic(path);
  }

 private:
  std::string database_;
};

TEST_F(HistoryDropTest, DroppedWhileItIsAdded) {
  DroppingFileSystem files(Database());
  DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database(), files));
  DM_ASSERT_OK_AND_ASSIGN(const Added added, history.Add(TestRun()));
  EXPECT_EQ(added.outcome, AddOutcome::kDropped);
  EXPECT_EQ(Records(history), 0);
  EXPECT_FALSE(IsFile(FileOf(added.uid)));
  EXPECT_TRUE(IsFile(DroppedRecordPath(Database(), added.uid)));
  EXPECT_THAT(Faults(), IsEmpty());
}

// Drops and restores the same records for ever.
int Toggle(const std::string& database, const std::vector<std::string>& ids, int rounds) {
  StatusOr<History> history = History::Open(database);
  if (!history.ok()) return 2;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& uid : ids) {
      const Status status = IsDropped(database, uid) ? history->Restore(uid).status()
                                                     : history->Drop(uid, kWhy, kDay).status();
      // Another process may have been faster; nothing else may go wrong.
      if (!status.ok() && status.code() != StatusCode::kNotFound) return 3;
    }
  }
  return 0;
}

TEST_F(HistoryDropTest, KilledAtAnyMomentEachRecordIsInOrOut) {
  std::vector<std::string> ids;
  {
    History history = Open();
    for (int i = 0; i < 5; ++i) ids.push_back(history.Add(TestRun(1e-6, kTestTime, i)).value().uid);
  }
  for (std::uint64_t round = 0; round < 25; ++round) {
    const pid_t child = Fork([&] { return Toggle(Database(), ids, 100000); });
    ::usleep(static_cast<useconds_t>(1000 + BitsAt(SeedOf("drop"), round) % 50000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(Wait(child), 128 + SIGKILL);
    History history = Open();
    EXPECT_THAT(history.problems(), IsEmpty());
    const auto dropped = static_cast<std::int64_t>(DroppedIds(Database()).value().size());
    EXPECT_EQ(Records(history) + dropped, 5) << round;
    EXPECT_THAT(Faults(), IsEmpty()) << round;
  }
}

// One process takes out and brings back what another adds all the time.
TEST_F(HistoryDropTest, TwoAtOnce) {
  std::vector<std::string> ids;
  {
    History history = Open();
    for (int i = 0; i < 3; ++i) ids.push_back(history.Add(TestRun(1e-6, kTestTime, i)).value().uid);
  }
  const pid_t toggles = Fork([&] { return Toggle(Database(), ids, 20); });
  const pid_t adds = Fork([&] {
    for (int round = 0; round < 20; ++round) {
      StatusOr<History> history = History::Open(Database());
      if (!history.ok()) return 2;
      for (int i = 0; i < 3; ++i) {
        if (!history->Add(TestRun(1e-6, kTestTime, i)).ok()) return 3;
      }
    }
    return 0;
  });
  EXPECT_EQ(Wait(toggles), 0);
  EXPECT_EQ(Wait(adds), 0);
  History history = Open();
  EXPECT_THAT(history.problems(), IsEmpty());
  EXPECT_EQ(Records(history) + static_cast<std::int64_t>(DroppedIds(Database()).value().size()), 3);
  EXPECT_THAT(Faults(), IsEmpty());
}

}  // namespace
}  // namespace draftmark
