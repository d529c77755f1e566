// What must not lose a record: several writers at once, a writer that is killed, a full disk, a
// folder that may not be written, a damaged file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/fork_testing.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/record_testing.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// A run with some points, told from all others by writer and number.
RunRecord RunOf(int writer, int number) {
  RunRecord run = TestRun(1e-6, kTestTime + writer, number);
  for (int i = 0; i < 20; ++i) {
    run.points.push_back(TestPoint(fmt::format("op/case_{}/rows=1/bf16", i), 1e-6 * (i + 1)));
  }
  return run;
}

class HistoryCrashTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("h.db"); }
  std::int64_t Count(const std::string& table) const {
    HistoryReader reader = HistoryReader::Open(Database()).value();
    return reader.db().OneInt("SELECT count(*) FROM " + table).value().value();
  }
  void ExpectWhole() const {
    const StatusOr<CheckReport> checked = CheckHistory(Database());
    ASSERT_THAT(checked, IsOk());
    EXPECT_THAT(checked->problems, IsEmpty());
  }

  TestFolder folder_;
};

TEST_F(HistoryCrashTest, SeveralWritersAtOnce) {
  constexpr int kWriters = 3;
  constexpr int kRuns = 25;
  std::vector<pid_t> children;
  children.reserve(kWriters);
  for (int writer = 0; writer < kWriters; ++writer) {
    children.push_back(Fork([&] {
      // The very first ones also race for making the database.
      StatusOr<History> history = History::Open(Database());
      if (!history.ok()) {
        std::cerr << history.status().ToString() << "\n";
        return 2;
      }
      for (int number = 0; number < kRuns; ++number) {
        if (!history->Add(RunOf(writer, number)).ok()) return 3;
        // All of them also add the same.
        if (!history->Add(RunOf(99, number)).ok()) return 4;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(Count("records"), (kWriters + 1) * kRuns);
  EXPECT_EQ(Count("points"), (kWriters + 1) * kRuns * 21);
  ExpectWhole();
}

TEST_F(HistoryCrashTest, ManyMakeItAtOnce) {
  for (int round = 0; round < 15; ++round) {
    const std::string database = folder_.Path(fmt::format("{}.db", round));
    std::vector<pid_t> children;
    children.reserve(4);
    for (int writer = 0; writer < 4; ++writer) {
      children.push_back(Fork([&] {
        StatusOr<History> history = History::Open(database);
        const Status status =
            history.ok() ? history->Add(RunOf(writer, 0)).status() : history.status();
        if (!status.ok()) std::cerr << status.ToString() << "\n";
        return status.ok() ? 0 : 1;
      }));
    }
    for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
    EXPECT_EQ(HistoryReader::Open(database).value().Runs().value().size(), 4u);
  }
}

TEST_F(HistoryCrashTest, ReadersSeeWholeRunsWhileOthersWrite) {
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  const pid_t writer = Fork([&] {
    StatusOr<History> history = History::Open(Database());
    for (int number = 0; number < 60; ++number) {
      if (!history->Add(RunOf(0, number)).ok()) return 1;
    }
    return 0;
  });
  int reads = 0;
  std::int64_t runs = 0;
  while (runs < 60) {
    HistoryReader reader = HistoryReader::Open(Database()).value();
    const std::int64_t half_runs =
        reader.db()
            .OneInt(
                "SELECT count(*) FROM runs WHERE (SELECT count(*) FROM points WHERE "
                "points.record = runs.record) != 21")
            .value()
            .value();
    ASSERT_EQ(half_runs, 0);
    runs = reader.db().OneInt("SELECT count(*) FROM runs").value().value();
    ++reads;
  }
  EXPECT_EQ(Wait(writer), 0);
  EXPECT_GT(reads, 0);
}

// What a writer said is added is there, wherever it was killed, and the rest is whole or not there.
TEST_F(HistoryCrashTest, AKilledWriterLosesNothing) {
  constexpr int kRounds = 25;
  int acknowledged = 0;
  int cut_short = 0;
  for (int round = 0; round < kRounds; ++round) {
    int said[2];
    ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
    const pid_t child = Fork([&] {
      StatusOr<History> history = History::Open(Database());
      if (!history.ok()) return 2;
      for (int number = 0; number < 1000; ++number) {
        if (!history->Add(RunOf(round, number)).ok()) return 3;
        if (::write(said[1], "x", 1) != 1) return 4;
      }
      return 0;
    });
    ::close(said[1]);
    ::usleep(static_cast<useconds_t>(
        1000 + BitsAt(SeedOf("kill"), static_cast<std::uint64_t>(round)) % 60000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(Wait(child), 128 + SIGKILL);
    char byte = 0;
    int of_this_round = 0;
    while (::read(said[0], &byte, 1) == 1) ++of_this_round;
    ::close(said[0]);
    acknowledged += of_this_round;
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database()));
    EXPECT_THAT(history.problems(), IsEmpty());
    cut_short += static_cast<int>(history.recovered());
    for (int number = 0; number < of_this_round; ++number) {
      EXPECT_EQ(history.Add(RunOf(round, number)).value().outcome, AddOutcome::kKnown);
    }
  }
  EXPECT_GT(acknowledged, 0);
  // A record may be whole and not acknowledged, one at most each time.
  EXPECT_GE(Count("records"), acknowledged);
  EXPECT_LE(Count("records"), acknowledged + kRounds);
  EXPECT_LE(cut_short, kRounds);
  ExpectWhole();
}

// Between its file and its rows: the moment that a kill seldom finds.
TEST_F(HistoryCrashTest, AWriterKilledBetweenFileAndRows) {
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  const RecordText text = RecordToJsonl(RunOf(0, 0)).value();
  const pid_t child = Fork([&] {
    StatusOr<Sqlite> db = OpenHistoryDatabase(Database());
    if (!db.ok()) return 2;
    SqliteTransaction transaction(db.value());
    if (!transaction.Begin().ok()) return 3;
    RowWriter writer(db.value());
    if (!writer.Add(ParseRecordJsonl(text.text, "x").value()).ok()) return 4;
    if (!WriteTextFile(JoinPath(RunsFolderOf(Database()), RecordFileName(text.uid)), text.text)
             .ok()) {
      return 5;
    }
    return ::kill(::getpid(), SIGKILL);
  });
  EXPECT_EQ(Wait(child), 128 + SIGKILL);
  EXPECT_EQ(Count("records"), 0);
  DM_ASSERT_OK_AND_ASSIGN(const History history, History::Open(Database()));
  EXPECT_EQ(history.recovered(), 1u);
  ExpectWhole();
}

TEST_F(HistoryCrashTest, AFullDatabaseKeepsTheFile) {
  std::size_t failed = 0;
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database()));
    const std::int64_t pages = history.db().OneInt("PRAGMA page_count").value().value();
    ASSERT_THAT(history.db().Run(fmt::format("PRAGMA max_page_count = {}", pages + 2)), IsOk());
    for (int number = 0; number < 30; ++number) {
      const auto added = history.Add(RunOf(0, number));
      if (added.ok()) continue;
      ++failed;
      EXPECT_THAT(added, StatusIs(StatusCode::kResourceExhausted,
                                  AllOf(HasSubstr("database or disk is full"),
                                        HasSubstr("the record is safe in " + Database()))));
    }
    EXPECT_GT(failed, 0u);
    EXPECT_EQ(history.db().OneInt("SELECT count(*) FROM records").value(),
              30 - static_cast<std::int64_t>(failed));
  }
  DM_ASSERT_OK_AND_ASSIGN(const History history, History::Open(Database()));
  EXPECT_EQ(history.recovered(), failed);
  EXPECT_EQ(Count("points"), 30 * 21);
  ExpectWhole();
}

// The disk is full for whatever is written, at any size that it may have then.
TEST_F(HistoryCrashTest, AFullDiskAtAnyMoment) {
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  int full = 0;
  for (rlim_t limit = 0; limit <= 200000; limit += 8000) {
    const pid_t child = Fork([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit size{limit, limit};
      if (::setrlimit(RLIMIT_FSIZE, &size) != 0) return 9;
      StatusOr<History> history = History::Open(Database());
      Status status = history.status();
      for (int number = 0; number < 4 && status.ok(); ++number) {
        status = history->Add(RunOf(static_cast<int>(limit), number)).status();
      }
      if (status.ok()) return 0;
      if (status.code() == StatusCode::kResourceExhausted) return 1;
      std::cerr << status.ToString() << "\n";
      return 2;
    });
    const int code = Wait(child);
    EXPECT_LE(code, 1) << limit;
    full += code;
    DM_ASSERT_OK_AND_ASSIGN(const History history, History::Open(Database()));
    EXPECT_THAT(history.problems(), IsEmpty()) << limit;
    ExpectWhole();
  }
  EXPECT_GT(full, 0);
  EXPECT_GT(Count("records"), 0);
}

TEST_F(HistoryCrashTest, ADamagedDatabaseIsSaidToBe) {
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database()));
    for (int number = 0; number < 10; ++number) ASSERT_THAT(history.Add(RunOf(0, number)), IsOk());
  }
  const std::string good = ReadTextFile(Database()).value();
  // No header, a cut file, no file at all, and zeros where pages were.
  std::string zeros = good;
  std::fill(zeros.begin() + 4096, zeros.end(), '\0');
  for (const std::string& bad : {std::string("not a database, but longer than its header would be, "
                                             "which has one hundred bytes, and then some more."),
                                 good.substr(0, good.size() / 3), zeros}) {
    ASSERT_THAT(WriteTextFile(Database(), bad), IsOk());
    const StatusOr<History> history = History::Open(Database());
    EXPECT_THAT(history,
                StatusIs(StatusCode::kDataLoss,
                         AllOf(HasSubstr("h.db: the database is damaged"),
                               HasSubstr("draftmark history rebuild --db " + Database()))));
    StatusOr<HistoryReader> reader = HistoryReader::Open(Database());
    EXPECT_EQ((reader.ok() ? reader->Runs().status() : reader.status()).code(),
              StatusCode::kDataLoss);
    DM_ASSERT_OK_AND_ASSIGN(const RebuildReport rebuilt, RebuildHistory(Database()));
    EXPECT_EQ(rebuilt.records, 10u);
    EXPECT_EQ(ReadTextFile(rebuilt.moved_aside).value(), bad);
    ExpectWhole();
  }
}

TEST(HistoryAccessTest, AFolderThatMayNotBeWritten) {
  const TestFolder folder("/tmp");  // which other users can reach
  const std::string database = folder.Path("h.db");
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(database));
    ASSERT_THAT(history.Add(RunOf(0, 0)), IsOk());
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    ASSERT_EQ(::chmod(entry.path().c_str(), entry.is_directory() ? 0555 : 0444), 0);
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  constexpr uid_t kNobody = 65534;
  constexpr int kNoOtherUser = 77;
  const int code = Wait(Fork([&] {
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) return kNoOtherUser;
    // Reading works, though SQLite cannot make its files beside the database.
    StatusOr<HistoryReader> reader = HistoryReader::Open(database);
    if (!reader.ok()) {
      std::cerr << reader.status().ToString() << "\n";
      return 1;
    }
    if (reader->Runs().value().size() != 1) return 2;
    if (!CheckHistory(database).ok()) return 3;
    const StatusOr<History> history = History::Open(database);
    if (history.ok() || history.status().code() != StatusCode::kUnavailable) return 4;
    if (history.status().message().find(database) == std::string::npos) return 5;
    const auto rebuilt = RebuildHistory(database);
    if (rebuilt.ok() || rebuilt.status().code() != StatusCode::kUnavailable) return 6;
    const auto other = History::Open(folder.Path("new.db"));
    return !other.ok() && other.status().code() == StatusCode::kUnavailable ? 0 : 7;
  }));
  ::chmod(folder.path().c_str(), 0755);
  ::chmod(RunsFolderOf(database).c_str(), 0755);
  if (code == kNoOtherUser) GTEST_SKIP() << "this sandbox has no other user";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace draftmark
