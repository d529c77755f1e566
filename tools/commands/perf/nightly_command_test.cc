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
#include "src/perf/history/utc_time.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
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
    double gemm = 0;  // FLOPs per second, of which the case reaches 80 %; 0: not told
    NamedInts counts = {};
    std::string case_id = kCase;
    std::int64_t clock = 0;  // seconds by which the machine's is ahead
  };
  // Night `night` after the first, five runs that differ by little.
  void AddNight(int night, const Run& like, int runs = 5) {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(db_));
    for (int i = 0; i < runs; ++i) {
      RunRecord run{.time = kFirst + night * 86400 + i * 60 + like.clock,
                    .night = NightOfDay(kFirst / 86400 + night),
                    .commit = "b8a6378e00000000000000000000000000000000",
                    .environment = H200(),
                    .program = "draft_benchmark",
                    .session = fmt::format("night {}", night),
                    .number = i};
      if (like.copy > 0) run.context = {{"copy_bytes_per_second", fmt::format("{}", like.copy)}};
      Point point{.case_id = like.case_id, .failure = like.failure, .counts = like.counts};
      if (like.gemm > 0) {
        run.context.emplace_back("gemm_flops_per_second", fmt::format("{}", like.gemm));
        point.flops_per_second = 0.8 * like.gemm;
        point.bytes_per_second = 0.1 * like.copy;
      }
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
  // A file in which so many launches of the case are recorded.
  std::string WriteRecorded(int launches) const {
    std::string path = folder_.Path("counts.json");
    EXPECT_THAT(WriteTextFile(path, fmt::format(R"({{"schema_version": 1, "cases": [{{
        "architecture": "sm_90", "case": "{}", "counts": {{"launches": {}}}}}], "accepted": []}})",
                                                kCase, launches)),
                IsOk());
    return path;
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

// The copy is as fast as ever; the product is slower, and so is the case that it bounds.
TEST_F(NightlyCommandTest, TheGemmIsTheSentinelOfArithmetic) {
  for (int night = 0; night < 12; ++night) AddNight(night, {.gemm = 7e14});
  AddNight(12, {.seconds = 1.05e-3, .gemm = 7e14 / 1.05});
  const CommandResult same = Nightly({"--no-record"});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("over the copy time of each night, 1 cases over the time of its "
                                  "GEMM\nSAME draft/a"));
  EXPECT_EQ(Json::parse(Nightly({"--no-record", "--format", "json"})
                            .out)["environments"][0]["cases"][0]["sentinel"],
            "gemm");
  EXPECT_EQ(Nightly({"--no-record", "--no-sentinel"}).code, 3);
  // A product that was not measured in the nights before leaves the copy.
  AddNight(13, {.seconds = 1e-3});
  AddNight(14, {.seconds = 1e-3, .gemm = 7e14});
  EXPECT_EQ(Nightly({"--no-record"}).code, 0);
}

TEST_F(NightlyCommandTest, AProductOfOneNightIsNoSentinel) {
  AddNights(12);
  AddNight(12, {.gemm = 7e14});
  const CommandResult same = Nightly({"--no-record"});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("over the copy time of each night\nSAME draft/a"));
}

// What it is compared with is the last that changed: of equal nights the first is named.
TEST_F(NightlyCommandTest, ALargerCountIs1AndRecorded) {
  for (int night = 0; night < 12; ++night) {
    AddNight(night, {.counts = {{"launches", 24}, {"peak_bytes", 4096}}});
  }
  AddNight(12, {.counts = {{"launches", 25}, {"peak_bytes", 4095}}});
  const CommandResult larger = Nightly({"--recorded", WriteRecorded(24)});
  EXPECT_EQ(larger.code, 1) << larger.out << larger.err;
  EXPECT_THAT(larger.out,
              HasSubstr(fmt::format("\nLARGER {}: launches: expected 24 as in night 2026-11-30, "
                                    "found 25 (+1)\n  reproduce: draftmark perf nightly ",
                                    kCase)));
  EXPECT_THAT(larger.out, HasSubstr(fmt::format("\nSMALLER {}: peak_bytes: expected 4096 as in "
                                                "night 2026-11-30, found 4095 (-1)\n",
                                                kCase)));
  EXPECT_THAT(larger.out, HasSubstr("\nSLOWER, 1 same, 1 counts larger\n"));
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<VerdictRow> verdicts, reader.NewestVerdicts());
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].verdict.metric, "launches");
  EXPECT_EQ(verdicts[0].verdict.verdict, "slower");
  EXPECT_EQ(verdicts[0].verdict.new_count, 25);
  EXPECT_EQ(verdicts[1].verdict.verdict, "faster");
  const Json json = Json::parse(Nightly({"--recorded", WriteRecorded(24), "--format", "json"}).out);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["environments"][0]["counts"][0]["change"], "larger");
  // So much is meant.
  EXPECT_EQ(Nightly({"--no-record", "--recorded", WriteRecorded(25)}).code, 0);
  // A record that cannot be used is no missing baseline (5).
  const std::string none = folder_.Path("none.json");
  EXPECT_EQ(Nightly({"--no-record", "--recorded", none}).code, 2);
  ASSERT_THAT(WriteTextFile(none, "{}"), IsOk());
  const CommandResult empty = Nightly({"--no-record", "--recorded", none});
  EXPECT_EQ(empty.code, 2);
  EXPECT_EQ(empty.err, "draftmark: " + none +
                           ": schema_version: required, but absent (expected an unsigned 64-bit "
                           "integer)\n");
  // The night after nothing grows.
  AddNight(13, {.counts = {{"launches", 25}, {"peak_bytes", 4095}}});
  EXPECT_EQ(Nightly({"--recorded", WriteRecorded(24)}).code, 0);
}

// What was measured night after night and is gone is no silent pass.
TEST_F(NightlyCommandTest, WhatIsGoneIs3UnlessAllowed) {
  for (int night = 0; night < 12; ++night) {
    AddNight(night, {.counts = {{"launches", 24}}});
    AddNight(night, {.case_id = "draft/b"});
  }
  AddNight(12, {});
  const CommandResult gone = Nightly({"--no-record"});
  EXPECT_EQ(gone.code, 3) << gone.out;
  EXPECT_THAT(gone.out, HasSubstr("\nUNCLEAR draft/b: it was measured in the last 3 nights, and "
                                  "not tonight"));
  EXPECT_THAT(gone.out, HasSubstr(fmt::format("\nMISSING {}: launches: expected 24 as in night "
                                              "2026-12-11, and it is not counted any more\n",
                                              kCase)));
  EXPECT_EQ(Nightly({"--no-record", "--case=draft/b"}).code, 3);
  const CommandResult allowed = Nightly({"--no-record", "--allow-missing"});
  EXPECT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_THAT(allowed.out, HasSubstr(" --arch sm_90 --allow-missing --case=draft/a"));
}

// The clock of the machine goes back by a day and more: the nights keep their order, nothing is
// lost, and the newest verdict is that of the newest night.
TEST_F(NightlyCommandTest, AClockThatGoesBackLosesNothing) {
  AddNights(13);
  EXPECT_EQ(Nightly().code, 0);
  AddNight(13, {.seconds = 1.03e-3, .clock = -3 * 86400});
  const CommandResult slower =
      Nightly({"--again", Bench(1.031), "--out", folder_.Path("again"), "--night", "2026-12-13"});
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_THAT(slower.err, HasSubstr("warning: night 2026-12-13: its runs say 2026-12-"));
  EXPECT_THAT(slower.err, HasSubstr("a clock went back; the order of the nights counts\n"));
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  EXPECT_EQ(reader.Runs({.night = "2026-12-13"}).value().size(), 5u);
  const std::vector<VerdictRow> verdicts = reader.NewestVerdicts().value();
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].verdict.verdict, "slower");
  EXPECT_EQ(Nightly({"--no-record"}).code, 3);  // the newest night is still the newest
}

// A night that was measured elsewhere gets its second look from results of there, and then the
// second word is the newest one.
TEST_F(NightlyCommandTest, ASecondLookByResultsOfElsewhere) {
  AddNights(12);
  AddNight(12, {.seconds = 1.03e-3});
  const CommandResult alone = Nightly();
  EXPECT_EQ(alone.code, 3);
  EXPECT_THAT(
      alone.out,
      HasSubstr("second look: run the benchmarks again there, 3 processes or more, as "
                "`draftmark-gpu/run bench --only _benchmark --out again1` to again5, then\n  "
                "draftmark perf nightly --db "));
  EXPECT_THAT(alone.out, HasSubstr(" --night 2026-12-12 --arch sm_90 --again-reports again1 ... "));
  EXPECT_EQ(Nightly({"--again", Bench(1.031), "--out", folder_.Path("made"), "--no-record"}).code,
            1);
  const std::string elsewhere = folder_.Path("again1");
  EXPECT_THAT(RealFileSystem().CreateDirectories(elsewhere), IsOk());
  std::filesystem::rename(folder_.Path("made/confirm/new"), elsewhere + "/reports");
  const CommandResult confirmed = Nightly({"--again-reports", elsewhere});
  EXPECT_EQ(confirmed.code, 1) << confirmed.out << confirmed.err;
  EXPECT_EQ(confirmed.err, "");
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  EXPECT_EQ(reader.NewestVerdicts().value()[0].verdict.verdict, "slower");
  EXPECT_EQ(Nightly({"--again-reports", folder_.Path("none")}).code, 2);
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
  {
    DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<GateRow> gates, reader.Gates());
    ASSERT_EQ(gates.size(), 1u);
    EXPECT_EQ(gates[0].verdict, "unclear");  // and not the same as what is not there
    EXPECT_EQ(gates[0].exit_code, 5);
  }
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
  numbers.reserve(runs.size());
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
