// `draftmark perf aa`, and what `draftmark perf gate --db` makes of its results.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "src/base/fake_clock.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/record.h"
#include "tools/commands/perf/fake_bench.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kCommit[] = "b8a6378e00000000000000000000000000000000";

class AaCommandTest : public testing::Test {
 protected:
  AaCommandTest() { EXPECT_THAT(WriteTextFile(script_, kFakeBench), IsOk()); }

  std::string Bench(int level, int spread = 100) const {
    return fmt::format("sh '{}' {} {} draft/a", script_, level, spread);
  }
  CommandResult Run(std::vector<std::string> arguments, int year = 2026) {
    const FakeClock clock(year, 12, 1);
    arguments.insert(arguments.begin(), "perf");
    arguments.insert(arguments.end(), {"--out", folder_.Path(fmt::format("out{}", runs_++))});
    return RunCommand(std::move(arguments), false, clock);
  }
  CommandResult Gate(int next, int year = 2026) {
    return Run({"gate", "--base", Bench(100000), "--new", Bench(next), "--db", db_}, year);
  }
  void AddAa(AaResult result, std::int64_t time = 1796005457) {
    History history = History::Open(db_).value();
    result.case_id = "draft/a";
    EXPECT_THAT(history
                    .Add(AaRecord{.time = time,
                                  .environment = {.architecture = "sm_90", .gpu = "NVIDIA H200"},
                                  .commit = kCommit,
                                  .results = {result}})
                    .status(),
                IsOk());
  }

  TestFolder folder_;
  std::string script_ = folder_.Path("bench.sh");
  std::string db_ = folder_.Path("history.db");
  int runs_ = 0;
};

TEST_F(AaCommandTest, WhatCannotBeRecordedIsSaidBehindTheResult) {
  ASSERT_THAT(WriteTextFile(db_ + ".runs", "no folder"), IsOk());
  const CommandResult result = Run({"aa", "--run", Bench(100000), "--db", db_});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, StartsWith("draft/a: 1 comparisons, 0 false alarms"));
  EXPECT_THAT(result.err, HasSubstr(db_ + ".runs"));
}

TEST_F(AaCommandTest, PublishesAlarmsAndDetectableShifts) {
  const CommandResult aa = Run({"aa", "--run", Bench(100000), "--gates", "2", "--seed", "4"});
  EXPECT_EQ(aa.code, 0) << aa.err;
  EXPECT_THAT(aa.out, StartsWith("draft/a: 2 comparisons, 0 false alarms (0 confirmed), 0 unclear, "
                                 "0 invalid; spread 0."));
  EXPECT_THAT(aa.out, HasSubstr("%, floor 1.50 %, detects 1."));
  EXPECT_THAT(aa.out, HasSubstr(" with 95 % power\n2 comparisons of 1 cases: 0 false alarms, 0.0 "
                                "per 1,000; 0 after confirmation\nreproduce: draftmark perf aa"));
  const Json json = Json::parse(Run({"aa", "--run", Bench(100000), "--format", "json"}).out);
  EXPECT_EQ(json["total"]["comparisons"], 1);
  EXPECT_GT(json["cases"][0]["detectable_shift"].get<double>(), 0.015);
}

TEST_F(AaCommandTest, IsRecorded) {
  const CommandResult aa = Run({"aa", "--run", Bench(100000), "--db", db_, "--commit", kCommit});
  EXPECT_EQ(aa.code, 0) << aa.err;
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<AaRow> rows, reader.AaQuality());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].case_id, "draft/a");
  EXPECT_EQ(rows[0].comparisons, 1);
  EXPECT_GT(rows[0].spread, 0);
  EXPECT_GT(rows[0].detectable, 0.015);
}

// What is recorded is published: no path of the machine.
TEST_F(AaCommandTest, TheRecordNamesNoPath) {
  ASSERT_EQ(Run({"aa", "--run", Bench(100000), "--db", db_, "--seed", "4"}).code, 0);
  const std::vector<std::string> names = RealFileSystem().List(db_ + ".runs").value();
  ASSERT_EQ(names.size(), 1u);
  const std::string record = ReadTextFile(JoinPath(db_ + ".runs", names[0])).value();
  EXPECT_THAT(record, HasSubstr("draftmark perf aa --run BENCH --gates 1 --seed 4"));
  EXPECT_THAT(record, testing::Not(HasSubstr(script_)));
}

TEST_F(AaCommandTest, InvalidIs4ErrorsAre2AndNoProgramIs5) {
  const CommandResult noisy = Run({"aa", "--run", Bench(100000, 2000), "--db", db_});
  EXPECT_EQ(noisy.code, 4);
  EXPECT_THAT(noisy.out, HasSubstr("1 invalid; spread unknown: no comparison has a verdict\n"));
  EXPECT_EQ(Run({"aa", "--run", "sh -c 'exit 3'"}).code, 2);
  EXPECT_EQ(Run({"aa"}).code, 2);
  const CommandResult none = Run({"aa", "--run", "no-such-program-anywhere"});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("no program: first run 0 of A: exit code 127"));
}

// Without a verdict nothing is known: neither that a case is quiet, nor less than before.
TEST_F(AaCommandTest, InvalidComparisonsAreNotQuiet) {
  AddAa({.invalid = 5});
  const CommandResult unknown = Gate(100001);
  EXPECT_EQ(unknown.code, 0) << unknown.out;
  EXPECT_THAT(unknown.out,
              HasSubstr("\nnote: none of 5 A/A comparisons on sm_90 in 30 days has a verdict: how "
                        "far its alarms can be trusted is not known\n"));
  AddAa({.comparisons = 1000, .spread = 0.01, .detectable = 0.05});
  AddAa({.invalid = 7}, 1796005457 + 3600);
  const CommandResult same = Gate(103000);
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("\n  floor 4.00 %, by the spread of its A/A runs\n"));
  EXPECT_THAT(same.out, testing::Not(HasSubstr("note: ")));
}

TEST_F(AaCommandTest, TheSpreadOfACaseIsTheGatesFloor) {
  const CommandResult plain = Gate(103000);
  EXPECT_EQ(plain.code, 1) << plain.err;
  AddAa({.comparisons = 1000, .spread = 0.01, .detectable = 0.05});
  const CommandResult same = Gate(103000);
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("SAME draft/a"));
  EXPECT_THAT(same.out, HasSubstr("\n  floor 4.00 %, by the spread of its A/A runs\n"));
  EXPECT_THAT(same.out, HasSubstr(" --floor 0.04 --case=draft/a\n"));
  EXPECT_EQ(Gate(103000, 2028).code, 1);  // A/A runs of long ago
  DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(db_));
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<GateRow> gates, reader.Gates());
  EXPECT_EQ(gates.size(), 3u);
  EXPECT_EQ(gates[0].mode, "gate");
}

TEST_F(AaCommandTest, ANoisyMachinesGateIsAdvisory) {
  AddAa({.comparisons = 1000, .false_alarms = 3, .spread = 0.002, .detectable = 0.02});
  const CommandResult slower = Gate(103000);
  EXPECT_EQ(slower.code, 0) << slower.err;
  EXPECT_THAT(slower.out, StartsWith("SLOWER draft/a"));
  EXPECT_THAT(
      slower.out,
      HasSubstr("\nadvisory: A/A runs on sm_90 raised 3 false alarms in 1000 comparisons of "
                "30 days (3.0 per 1,000, more than 2)\n"));
  const CommandResult aa = Run({"aa", "--run", Bench(100000), "--db", db_, "--commit", kCommit});
  EXPECT_EQ(aa.code, 1) << aa.err;
  EXPECT_THAT(aa.out, HasSubstr("\nlast 30 days: 1001 comparisons, 3 false alarms, 3.0 per 1,000\n"
                                "the gate is advisory here: "));
}

}  // namespace
}  // namespace draftmark
