// The gate with real processes: scripts that write reports as a program of Google Benchmark does,
// and one real program.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history_reader.h"
#include "tools/commands/perf/fake_bench.h"
#include "tools/commands/perf/gate_report.h"
#include "tools/commands/perf/gate_runner.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class GateCommandTest : public testing::Test {
 protected:
  GateCommandTest() { EXPECT_THAT(WriteTextFile(script_, kFakeBench), IsOk()); }

  std::string Bench(int level, int spread = 100, const std::string& name = "draft/a") const {
    return fmt::format("sh '{}' {} {} {}", script_, level, spread, name);
  }
  CommandResult Gate(const std::string& base, const std::string& next,
                     std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"perf", "gate",  "--base", base,     "--new",
                                          next,   "--out", Out(),    "--seed", "7"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(std::move(arguments));
  }
  std::string Out() const { return folder_.Path(fmt::format("out{}", gates_)); }
  void Again() { ++gates_; }

  TestFolder folder_;
  std::string script_ = folder_.Path("bench.sh");
  int gates_ = 0;
};

TEST_F(GateCommandTest, SameAndFasterAre0) {
  const CommandResult same = Gate(Bench(100000), Bench(100001));
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, StartsWith("SAME draft/a: ratio 1.0000 (99.8 % CI 0.9"));
  EXPECT_THAT(same.out, HasSubstr(fmt::format(
                            "\n  reproduce: draftmark perf compare --base {0}/first/base --new "
                            "{0}/first/new --case=draft/a\n",
                            Out())));
  EXPECT_THAT(same.out, HasSubstr("\nSAME: 1 cases, 1 same, 20 processes\n"));
  EXPECT_THAT(same.out, HasSubstr("\nreproduce: draftmark perf gate --base 'sh '\\''"));
  EXPECT_THAT(same.out, EndsWith(" --seed 7 --out " + Out() + ".2\n"));
  EXPECT_THAT(same.err, HasSubstr("first run 9 of new: order seed "));
  const std::string calls = ReadTextFile(script_ + ".calls").value();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 20);
  EXPECT_THAT(calls,
              HasSubstr(fmt::format(
                  " 100000 100 draft/a --benchmark_out={}/first/base/00.json "
                  "--benchmark_out_format=json --benchmark_enable_random_interleaving=true\n",
                  Out())));
  Again();
  EXPECT_EQ(Gate(Bench(100000), Bench(90000)).code, 0);
}

TEST_F(GateCommandTest, SlowerIs1AndReproduces) {
  const CommandResult slower = Gate(Bench(100000), Bench(103000));
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_THAT(slower.out, StartsWith("SLOWER draft/a: ratio 1.02"));
  EXPECT_THAT(slower.out, HasSubstr("\n  confirmed by 10+10 fresh runs: ratio 1.02"));
  EXPECT_THAT(slower.out, HasSubstr("\nSLOWER: 1 cases, 1 slower, 40 processes\n"));
  EXPECT_THAT(ReadTextFile(script_ + ".calls").value(),
              HasSubstr(" --benchmark_filter=^(draft/a)$\n"));
  EXPECT_EQ(RunCommand({"perf", "compare", "--base", Out() + "/first/base", "--new",
                        Out() + "/first/new", "--case=draft/a"})
                .code,
            1);
}

TEST_F(GateCommandTest, Json) {
  const CommandResult slower = Gate(Bench(100000), Bench(103000), {"--format", "json"});
  EXPECT_EQ(slower.code, 1);
  const Json json = Json::parse(slower.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["verdict"], "slower");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["processes"], 40);
  EXPECT_EQ(json["cases"][0]["look"], "first");
  EXPECT_EQ(json["cases"][0]["floor"], 0.015);
  EXPECT_EQ(json["cases"][0]["fresh"]["confirmed"], true);
  EXPECT_THAT(json["reproduce"].get<std::string>(), HasSubstr("draftmark perf gate --base"));
}

TEST_F(GateCommandTest, ALargerCountIs1AndRecorded) {
  const std::string database = folder_.Path("history.db");
  const auto counted = [&](int level, int launches) {
    return fmt::format(R"(env COUNTERS=', "launches": {}' {})", launches, Bench(level));
  };
  const CommandResult larger =
      Gate(counted(100000, 24), counted(100001, 25), {"--db", database, "--new-commit", "1111"});
  EXPECT_EQ(larger.code, 1) << larger.out;
  EXPECT_THAT(larger.out, StartsWith("SAME draft/a: ratio 1.0000 "));
  EXPECT_THAT(larger.out,
              HasSubstr("\nLARGER draft/a: launches: expected 24 as in BASE, found 25 (+1)\n"));
  EXPECT_THAT(larger.out, HasSubstr("\nSLOWER: 1 cases, 1 same, 1 counts larger, 20 processes\n"));
  {
    DM_ASSERT_OK_AND_ASSIGN(HistoryReader reader, HistoryReader::Open(database));
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<VerdictRow> verdicts, reader.NewestVerdicts());
    ASSERT_EQ(verdicts.size(), 2u);
    EXPECT_EQ(verdicts[0].verdict.metric, "launches");
    EXPECT_EQ(verdicts[0].verdict.verdict, "slower");
    EXPECT_EQ(verdicts[0].verdict.old_count, 24);
    EXPECT_EQ(verdicts[0].verdict.new_count, 25);
    EXPECT_EQ(verdicts[1].verdict.metric, "time");
    EXPECT_EQ(verdicts[1].verdict.verdict, "same");
    // Without paths of this machine.
    for (const VerdictRow& row : verdicts) {
      EXPECT_EQ(row.verdict.reproduce,
                "draftmark perf gate --base BASE --new NEW --seed 7 --case=draft/a");
    }
  }
  Again();
  const CommandResult smaller = Gate(counted(100000, 24), counted(100001, 23));
  EXPECT_EQ(smaller.code, 0) << smaller.out;
  EXPECT_THAT(smaller.out,
              HasSubstr("\nSMALLER draft/a: launches: expected 24 as in BASE, found 23 (-1)\n"));
}

// A machine that is too noisy for times is not for counts.
TEST(GateReportTest, AnAdvisoryGateFailsForCountsOnly) {
  GateReport report;
  report.advisory = "noisy";
  report.result.verdict = Verdict::kSlower;
  report.result.cases.push_back({.judged = {.name = "draft/a", .verdict = Verdict::kSlower}});
  EXPECT_EQ(GateExitCode(report), 0);
  report.result.cases[0].judged.counts = {{"launches", CountRange{24, 24}, CountRange{25, 25}}};
  EXPECT_EQ(GateExitCode(report), 1);
}

TEST_F(GateCommandTest, WhatCannotBeRecordedIsSaidBehindTheVerdict) {
  const std::string database = folder_.Path("history.db");
  ASSERT_THAT(WriteTextFile(database + ".runs", "no folder"), IsOk());
  const CommandResult same = Gate(Bench(100000), Bench(100001), {"--db", database});
  EXPECT_EQ(same.code, 2);
  EXPECT_THAT(same.out, StartsWith("SAME draft/a: ratio"));
  EXPECT_THAT(same.err, HasSubstr("history.db.runs"));
  Again();
  const CommandResult slower = Gate(Bench(100000), Bench(103000), {"--db", database});
  EXPECT_EQ(slower.code, 1);
  EXPECT_THAT(slower.err, HasSubstr("history.db.runs"));
}

TEST_F(GateCommandTest, UnclearIs3AndItsReproductionToo) {
  const CommandResult unclear = Gate(Bench(100000, 200), Bench(101420, 200));
  EXPECT_EQ(unclear.code, 3) << unclear.out;
  EXPECT_THAT(unclear.out, StartsWith("UNCLEAR draft/a: "));
  EXPECT_THAT(unclear.out, HasSubstr(", runs 16+16, "));
  EXPECT_EQ(RunCommand({"perf", "compare", "--base", Out() + "/first/base", Out() + "/second/base",
                        "--new", Out() + "/first/new", Out() + "/second/new", "--look", "second"})
                .code,
            3);
}

TEST_F(GateCommandTest, InvalidIs4) {
  const CommandResult noisy = Gate(Bench(100000, 2000), Bench(110000, 2000));
  EXPECT_EQ(noisy.code, 4);
  EXPECT_THAT(noisy.out, HasSubstr("too noisy"));
  Again();
  const std::string report = folder_.Path("failed.json");
  EXPECT_THAT(WriteTextFile(report, R"({"benchmarks": [{"name": "draft/a", "error_occurred": true,
    "error_message": "wrong tokens"}]})"),
              IsOk());
  // As a benchmark of ours ends that found wrong results.
  const CommandResult failed =
      Gate(Bench(100000), fmt::format("cat '{}' > {{out}}; exit 1", report));
  EXPECT_EQ(failed.code, 4) << failed.err;
  EXPECT_THAT(failed.out, AllOf(HasSubstr("INVALID draft/a: failed in "), HasSubstr("wrong tokens"),
                                Not(HasSubstr("ratio"))));
}

TEST_F(GateCommandTest, CrashesHangsAndEmptyReportsAre2) {
  for (const auto& [bad, message] : std::vector<std::pair<std::string, std::string>>{
           {"sh -c 'echo no GPU >&2; exit 2'", "first run 0 of new: no report in "},
           {"sh -c 'echo no GPU >&2; exit 2'", "exit code 2; its last line: no GPU"},
           {"sh -c 'kill -SEGV $$'", "exit code 139"},
           {"sh -c 'sleep 600'", "first run 0 of new: killed after 2 s"},
           {"touch {out}", "no report in"},
           {"true", "no report in"},
           {"echo '{\"benchmarks\": []}' > {out}", "no benchmark was run"},
           {"echo '{\"benchmarks\": [' > {out}", "not valid JSON"},
           {Bench(100000) + " > {out}; exit 3", "exit code 3"},
           {"no-such-program-anywhere", "exit code 127"},
       }) {
    Again();
    const CommandResult result = Gate(Bench(100000), bad, {"--timeout", "2"});
    EXPECT_EQ(result.code, 2) << bad;
    EXPECT_THAT(result.err, HasSubstr(message)) << bad;
    EXPECT_THAT(result.err, HasSubstr("\ndraftmark: ")) << bad;
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(GateCommandTest, UsageErrorsAre2) {
  EXPECT_EQ(RunCommand({"perf", "gate"}).code, 2);
  EXPECT_EQ(RunCommand({"perf", "gate", "--base", "true"}).code, 2);
  EXPECT_EQ(Gate("true", "true", {"--timeout", "0"}).code, 2);
  EXPECT_EQ(Gate(Bench(100000), Bench(100001)).code, 0);
  const CommandResult again = Gate(Bench(100000), Bench(100001));
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("has the runs of an earlier gate"));
}

TEST_F(GateCommandTest, NoBaselineOrNoCommonCaseIs5) {
  const CommandResult none = Gate("no-such-program-anywhere", Bench(100000));
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("no baseline: first run 0 of base: exit code 127"));
  Again();
  const CommandResult apart = Gate(Bench(100000), Bench(100001, 100, "draft/b"));
  EXPECT_EQ(apart.code, 5);
  EXPECT_THAT(apart.err, HasSubstr("no case in common: 1 only in base, 1 only in new"));
}

TEST_F(GateCommandTest, ACommandThatPrintsItsReport) {
  const CommandResult same =
      Gate(Bench(100000) + " {flags} > {out}", Bench(100001) + " | cat > {out}");
  EXPECT_EQ(same.code, 0) << same.err;
}

TEST_F(GateCommandTest, ARealProgram) {
  // Shortest: what its verdict is does not matter here, but that flags, filter and report fit.
  const std::string program =
      fmt::format("'{}' --benchmark_min_time=0.001", TestData("benchmarks/json_benchmark"));
  const CommandResult result =
      Gate(program, program, {"--format", "json", "--case=BM_ParseSafetensorsHeader/100"});
  EXPECT_THAT(result.code, testing::AnyOf(0, 1, 3, 4)) << result.err;
  const Json json = Json::parse(result.out);
  ASSERT_EQ(json["cases"].size(), 1u) << json;
  EXPECT_GE(json["cases"][0]["base"]["runs"].get<int>(), 10);
}

// The line that a gate prints last is run where the gate was.
TEST_F(GateCommandTest, TheDefaultFolderIsAFreshOne) {
  const std::string folder = folder_.Path("7");
  EXPECT_EQ(FreeFolder(folder), folder);
  EXPECT_THAT(RealFileSystem().CreateDirectories(folder + "/first/base"), IsOk());
  EXPECT_EQ(FreeFolder(folder), folder + ".2");
  EXPECT_THAT(RealFileSystem().CreateDirectories(folder + ".2"), IsOk());
  EXPECT_EQ(FreeFolder(folder), folder + ".3");
}

TEST_F(GateCommandTest, ACounterThatIsGoneIs3UnlessAllowed) {
  const std::string counted = "env COUNTERS=', \"launches\": 24' " + Bench(100000);
  const CommandResult gone = Gate(counted, Bench(100001), {"--timeout", "60"});
  EXPECT_EQ(gone.code, 3) << gone.out;
  EXPECT_THAT(gone.out, HasSubstr("\nMISSING draft/a: launches: 24, only in BASE\n"));
  EXPECT_THAT(gone.out, HasSubstr("\nUNCLEAR: 1 cases, 1 same, 20 processes\n"));
  EXPECT_THAT(gone.out, EndsWith(fmt::format(" --out {}.2 --timeout 60\n", Out())));
  Again();
  const CommandResult allowed = Gate(counted, Bench(100001), {"--allow-missing"});
  EXPECT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_THAT(allowed.out, EndsWith(" --allow-missing\n"));
}

// One that is misspelt must not pass.
TEST_F(GateCommandTest, ACaseThatIsNotThereIs5) {
  const CommandResult missing =
      Gate(Bench(100000), Bench(100001), {"--case=draft/a", "--case=draft/A"});
  EXPECT_EQ(missing.code, 5);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("--case: base and new do not both have draft/A"));
}

TEST(GateCommandLineTest, Words) {
  const GateRun run{.seed = 12, .cases = {"op/a(b)/x=1", "d"}};
  const std::string flags =
      R"(--benchmark_enable_random_interleaving=true '--benchmark_filter=^(op/a\(b\)/x=1|d)$')";
  EXPECT_EQ(GateCommandLine("bench --x", run, "o/0.json"),
            "exec env DRAFTMARK_ORDER_SEED=12 bench --x --benchmark_out=o/0.json "
            "--benchmark_out_format=json " +
                flags);
  EXPECT_EQ(GateCommandLine("cd 'a b'; bench {flags} > {out}", run, "o/it's"),
            "export DRAFTMARK_ORDER_SEED=12; cd 'a b'; bench " + flags + R"( > 'o/it'\''s')");
  const GateRun all{.cases = std::vector<std::string>(20000, "draft/a")};
  EXPECT_THAT(GateCommandLine("bench", all, "o"), Not(HasSubstr("filter")));
}

}  // namespace
}  // namespace draftmark
