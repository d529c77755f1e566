// `draftmark perf nightly` on histories that the tests make, with scripts as benchmarks.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/record.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kFirst = 1796005457;  // 2026-11-30T02:24:17Z
constexpr char kCase[] = "draft/a/gamma=16,ctx=2048,new=8,nb=1";

// Called as SCRIPT MS COPY_BYTES_PER_SECOND CASE FLAGS.
constexpr char kScript[] = R"sh(
for flag in "$@"; do case $flag in --benchmark_out=*) out=${flag#*=} ;; esac; done
cat >"$out" <<END
{"context": {"date": "2026-12-12T02:24:17+00:00", "order_seed": "$DRAFTMARK_ORDER_SEED",
  "gpu": "NVIDIA H200 (sm_90, 132 SMs, driver CUDA 13.0, runtime CUDA 13.0)", "driver": "580",
  "copy_bytes_per_second": "$2"},
 "benchmarks": [{"name": "$3/manual_time", "label": "$3", "real_time": $1, "time_unit": "ms"}]}
END
)sh";

Environment H200() {
  return {.architecture = "sm_90",
          .gpu = "NVIDIA H200",
          .driver = "580",
          .cuda = "13.0",
          .clocks = "default"};
}

class NightlyCommandTest : public testing::Test {
 protected:
  struct Run {
    double seconds = 1e-3;
    double copy = 4e12;  // bytes per second; 0: not told
    std::string failure = {};
  };
  // Night `night` after the first, five runs that differ by little.
  void AddNight(int night, const Run& like, int runs = 5) {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(db_));
    for (int i = 0; i < runs; ++i) {
      RunRecord run{.time = kFirst + night * 86400 + i * 60,
                    .commit = "b8a6378e00000000000000000000000000000000",
                    .environment = H200(),
                    .program = "draft_benchmark",
                    .session = fmt::format("night {}", night),
                    .number = i};
      if (like.copy > 0) run.context = {{"copy_bytes_per_second", fmt::format("{}", like.copy)}};
      Point point{.case_id = kCase, .failure = like.failure};
      if (like.failure.empty()) {
        point.seconds = like.seconds * (1 + 0.0005 * ((i + night) % 5));
        point.median = point.seconds;
        point.samples = 30;
        point.unit = "ms";
      }
      run.points = {point};
      EXPECT_THAT(history.Add(run).status(), IsOk());
    }
  }
  void AddNights(int count) {
    for (int night = 0; night < count; ++night) AddNight(night, {});
  }
  CommandResult Nightly(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"perf", "nightly", "--db", db_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(std::move(arguments));
  }
  // A command whose reports give the case so many ms.
  std::string Bench(double ms, double copy = 4e12) {
    const std::string script = folder_.Path("bench.sh");
    EXPECT_THAT(WriteTextFile(script, kScript), IsOk());
    return fmt::format("sh '{}' {} {} {}", script, ms, copy, kCase);
  }

  TestFolder folder_;
  std::string db_ = folder_.Path("history.db");
};

TEST_F(NightlyCommandTest, SameIs0AndIsRecorded) {
  AddNights(13);
  const CommandResult same = Nightly();
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(
      same.out,
      StartsWith("sm_90, NVIDIA H200, driver 580, night 2026-12-12, commit b8a6378e00: over "
                 "the copy time of each night\nSAME draft/a/gamma=16,ctx=2048,new=8,nb=1: "
                 "ratio 1.0000 to the median of 12 nights, threshold 1.50 %, 1.001 -> 1.001 "
                 "ms\n  reproduce: draftmark perf nightly --db "));
  EXPECT_THAT(same.out, HasSubstr(" --night 2026-12-12 --arch sm_90 --case=draft/a/gamma=16"));
  EXPECT_THAT(same.out, HasSubstr("\nSAME, 1 same\n"));
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<GateRow> gates, reader.Gates());
  ASSERT_EQ(gates.size(), 1u);
  EXPECT_EQ(gates[0].mode, "nightly");
  EXPECT_EQ(gates[0].night, "2026-12-12");
  EXPECT_EQ(gates[0].verdict, "same");
  // Records are published: no path of the machine.
  EXPECT_EQ(gates[0].command,
            "draftmark perf nightly --db history.db --night 2026-12-12 --arch sm_90");
  EXPECT_EQ(Nightly().code, 0);  // once more: nothing new
  EXPECT_EQ(reader.Gates()->size(), 1u);
}

TEST_F(NightlyCommandTest, SlowerIs1OnceFreshRunsConfirmIt) {
  AddNights(12);
  AddNight(12, {.seconds = 1.03e-3});
  const CommandResult alone = Nightly({"--no-record"});
  EXPECT_EQ(alone.code, 3);
  EXPECT_THAT(alone.out, HasSubstr("slower, not confirmed: no fresh runs (--again)"));
  const CommandResult slower =
      Nightly({"--again", Bench(1.031), "--out", folder_.Path("again"), "--no-record"});
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_THAT(slower.out, HasSubstr("SLOWER draft/a/gamma=16,ctx=2048,new=8,nb=1: ratio 1.03"));
  EXPECT_THAT(slower.out, HasSubstr("\n  fresh runs of the same night: ratio 1.03"));
  EXPECT_THAT(slower.out, HasSubstr("\nSLOWER, 1 slower\n"));
  // The line that reproduces it knows the fresh runs.
  EXPECT_THAT(slower.out, HasSubstr("/gamma=16,ctx=2048,new=8,nb=1 --again-reports " +
                                    folder_.Path("again/confirm/new") + "\n"));
  EXPECT_EQ(Nightly({"--again-reports", folder_.Path("again/confirm/new")}).code, 1);
  const CommandResult unconfirmed =
      Nightly({"--again", Bench(1.001), "--out", folder_.Path("fresh"), "--no-record"});
  EXPECT_EQ(unconfirmed.code, 3);
  EXPECT_THAT(unconfirmed.out, HasSubstr("slower, which 5 fresh runs do not confirm"));
  const CommandResult crash =
      Nightly({"--again", "exit 9", "--out", folder_.Path("crash"), "--no-record"});
  EXPECT_EQ(crash.code, 2);
}

TEST_F(NightlyCommandTest, TheSentinelCancelsADrift) {
  AddNights(12);
  AddNight(12, {.seconds = 1.05e-3, .copy = 4e12 / 1.05});
  EXPECT_EQ(Nightly({"--no-record"}).code, 0);
  const CommandResult plain = Nightly({"--no-record", "--no-sentinel"});
  EXPECT_EQ(plain.code, 3);
  EXPECT_THAT(plain.out, HasSubstr("no sentinel\n"));
  EXPECT_THAT(plain.out, HasSubstr(" --arch sm_90 --no-sentinel --case=draft/a"));
}

TEST_F(NightlyCommandTest, ChangesOfLevelAreToldAndRecorded) {
  AddNights(20);
  for (int night = 20; night < 27; ++night) AddNight(night, {.seconds = 1.02e-3});
  const CommandResult result = Nightly({"--format", "json"});
  const Json json = Json::parse(result.out);
  const Json& c = json["environments"][0]["cases"][0];
  ASSERT_EQ(c["changes"].size(), 1u) << json;
  EXPECT_EQ(c["changes"][0]["night"], "2026-12-20");
  EXPECT_NEAR(c["changes"][0]["step"].get<double>(), 0.02, 0.001);
  EXPECT_EQ(json["night"], "2026-12-26");
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<ChangePointRow> changes, reader.ChangePoints());
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].point.night, "2026-12-20");
}

TEST_F(NightlyCommandTest, FailedRunsAre4) {
  AddNights(12);
  AddNight(12, {.failure = "failed: wrong tokens"});
  const CommandResult result = Nightly();
  EXPECT_EQ(result.code, 4) << result.out;
  EXPECT_THAT(result.out, HasSubstr("0 runs can be used, at least 3 are needed: failed: wrong"));
}

TEST_F(NightlyCommandTest, NoBaselineIs5) {
  EXPECT_EQ(Nightly().code, 5);
  AddNights(10);
  const CommandResult young = Nightly();
  EXPECT_EQ(young.code, 5);
  EXPECT_THAT(young.out, AllOf(HasSubstr("NO BASELINE draft/a"), HasSubstr("9 nights before")));
  EXPECT_EQ(Nightly({"--night", "2026-01-01"}).code, 5);
  const CommandResult missing = Nightly({"--case", "draft/A"});
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.err, HasSubstr("--case: night 2026-12-09 does not have draft/A"));
  AddNight(10, {});
  EXPECT_EQ(Nightly().code, 0);
}

TEST_F(NightlyCommandTest, RunMeasuresAndRecordsTheNight) {
  AddNights(12);
  const CommandResult result =
      Nightly({"--run", Bench(1.001), "--night", "2026-12-12", "--commit",
               "b8a6378e00000000000000000000000000000000", "--out", folder_.Path("out")});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const auto runs, reader.Runs({.night = "2026-12-12"}));
  EXPECT_EQ(runs.size(), 5u);
}

TEST_F(NightlyCommandTest, WhatCannotBeRecordedIsSaidBehindTheVerdict) {
  AddNights(13);
  const std::string folder = db_ + ".runs";
  std::filesystem::remove_all(folder);
  ASSERT_THAT(WriteTextFile(folder, "no folder"), IsOk());
  const CommandResult same = Nightly();
  EXPECT_EQ(same.code, 2);
  EXPECT_THAT(same.out, HasSubstr("\nSAME, 1 same\n"));
  EXPECT_THAT(same.err, HasSubstr(folder));
}

// What one program measures is confirmed by that program, whichever comes first.
TEST_F(NightlyCommandTest, SeveralPrograms) {
  AddNights(12);
  AddNight(12, {.seconds = 1.03e-3});
  const std::string other = fmt::format("sh '{}' 7 4e12 draft/b", folder_.Path("bench.sh"));
  const CommandResult slower = Nightly(
      {"--again", other, "--again", Bench(1.031), "--out", folder_.Path("again"), "--no-record"});
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_EQ(RealFileSystem().List(folder_.Path("again/confirm/new")).value().size(), 10u);
  const CommandResult only_other =
      Nightly({"--again", other, "--out", folder_.Path("other"), "--no-record"});
  EXPECT_EQ(only_other.code, 3) << only_other.out;
  const CommandResult measured =
      Nightly({"--run", other, "--run", Bench(1.001), "--night", "2026-12-13", "--commit", "c",
               "--out", folder_.Path("out"), "--runs", "3"});
  EXPECT_EQ(measured.code, 0) << measured.out << measured.err;
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const auto runs, reader.Runs({.night = "2026-12-13"}));
  ASSERT_EQ(runs.size(), 6u);
  std::vector<std::int64_t> numbers;
  for (const RunRow& row : runs) numbers.push_back(reader.Run(row.id).value().number);
  EXPECT_THAT(numbers, testing::UnorderedElementsAre(0, 0, 1, 1, 2, 2));
}

TEST_F(NightlyCommandTest, UsageErrorsAre2) {
  EXPECT_EQ(RunCommand({"perf", "nightly"}).code, 2);
  AddNights(1);
  EXPECT_EQ(Nightly({"--night", "yesterday"}).code, 2);
  EXPECT_EQ(Nightly({"--runs", "0"}).code, 2);
  EXPECT_EQ(Nightly({"--again", "x", "--again-reports", "y"}).code, 2);
  EXPECT_THAT(WriteTextFile(db_, "no database, though long enough to be looked at"), IsOk());
  EXPECT_EQ(Nightly().code, 2);
}

}  // namespace
}  // namespace draftmark
