#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fake_clock.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/synthetic_history.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kReport[] = R"json({"context": {"date": "2026-11-30T02:24:17+00:00",
    "executable": "./draft_benchmark", "driver": "580.159.04",
    "gpu": "NVIDIA H200 (sm_90, 132 SMs, driver CUDA 13.0, runtime CUDA 13.0)"},
  "benchmarks": [{"name": "draft/a/nb=1/manual_time", "run_type": "iteration",
    "real_time": 1.25, "time_unit": "ms", "launches": 12}]})json";

class HistoryCommandTest : public testing::Test {
 protected:
  std::string Database() const { return folder_.Path("h.db"); }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_THAT(WriteTextFile(folder_.Path(name), text), IsOk());
    return folder_.Path(name);
  }
  CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "history");
    arguments.insert(arguments.end(), {"--db", Database()});
    return RunCommand(std::move(arguments), false, clock_);
  }
  std::string Import() {
    const CommandResult result = Run({"import", Write("r.json", kReport), "--commit", "b8a6378"});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out.substr(6, 16);
  }
  void FillNights() {
    StatusOr<History> history = History::Open(Database());
    ASSERT_THAT(history, IsOk());
    ASSERT_THAT(FillSyntheticHistory({.cases = 2, .nights = 4, .runs = 2}, history.value()),
                IsOk());
  }

  TestFolder folder_;
  FakeClock clock_{2025, 9, 5};
};

TEST_F(HistoryCommandTest, ImportListShow) {
  const std::string report = Write("r.json", kReport);
  CommandResult result = Run({"import", report, "--commit", "b8a6378", "--clocks", "locked"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("added "));
  EXPECT_THAT(result.out, AllOf(HasSubstr(" draft_benchmark r.json: 1 points\n"),
                                HasSubstr("h.db: 1 runs added, 0 known, 0 replaced\n")));
  const std::string id = result.out.substr(6, 16);
  result = Run({"import", report, "--commit", "b8a6378", "--clocks", "locked"});
  EXPECT_THAT(result.out, StartsWith("known " + id));
  // The same file, but with other facts about it.
  result = Run({"import", report, "--commit", "b8a6378"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("another record with this id is there"));

  result = Run({"list"});
  EXPECT_EQ(result.out, id + " 2026-11-30T02:24:17Z b8a6378    draft_benchmark sm_90 NVIDIA H200 "
                             "driver 580.159.04 CUDA 13.0 clocks locked, 1 points\n");
  EXPECT_EQ(Run({"list", "--program", "other"}).out, "");
  EXPECT_EQ(Run({"list", "--what", "series"}).out,
            "draft/a/nb=1 schema 1 sm_90 NVIDIA H200 driver 580.159.04 CUDA 13.0 clocks locked\n");
  EXPECT_THAT(Run({"list", "--what", "environments"}).out, HasSubstr("clocks locked: 1 runs\n"));
  const Json json = Json::parse(Run({"list", "--format", "json"}).out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["runs"][0]["id"], id);
  EXPECT_EQ(json["environments"][0]["clocks"], "locked");

  result = Run({"show", id.substr(0, 5)});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("run " + id + " 2026-11-30T02:24:17Z\n"),
                                HasSubstr("commit b8a6378\n"),
                                HasSubstr("  draft/a/nb=1: 1.25 ms (median 1.25 ms, 1 samples), "
                                          "launches 12\n"),
                                HasSubstr("    reproduce: draft_benchmark --benchmark_filter='^")));
  const std::string file = ReadTextFile(Database() + ".runs/" + id + ".jsonl").value();
  EXPECT_EQ(Run({"show", id, "--jsonl"}).out, file);
  EXPECT_EQ(
      Json::parse(Run({"show", id, "--format", "json"}).out)[1]["point"]["counts"]["launches"], 12);
}

TEST_F(HistoryCommandTest, EveryKindIsShown) {
  std::vector<std::string> ids;
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(Database()));
    for (const HistoryRecord& record : AllKindsOfRecords()) {
      ids.push_back(history.Add(record).value().uid);
    }
  }
  const std::vector<std::string> texts = {"7 void: clock moved,other process",
                                          "XFAIL draft/dflash_yarn",
                                          "launches: 3 -> 4",
                                          "50 comparisons, 1 false alarms",
                                          "total on sm_90: 100 -> 101",
                                          "v1.0\ncommit b8a6378\nfirst",
                                          "1.5 us (1.4 us to 1.6 us, 2 runs)"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_THAT(Run({"show", ids[i]}).out, HasSubstr(texts[i]));
  }
  EXPECT_THAT(Run({"list", "--what", "gates"}).out,
              HasSubstr("nightly slower b8a6378..3b55028 sm_90 NVIDIA H200"));
  EXPECT_THAT(Run({"list"}).out, HasSubstr("INVALID: 7 of 30 samples"));
}

TEST_F(HistoryCommandTest, ErrorsAre2AndOneLine) {
  const std::string report = Write("r.json", kReport);
  for (const auto& [arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"list"}, "h.db: no such history"},
           {{"show", "abcd"}, "h.db: no such history"},
           {{"check"}, "h.db: no such history"},
           {{"rebuild"}, "h.db: no such history, and no folder"},
           {{"import", report}, "does not say of which commit"},
           {{"import", folder_.Path("none")}, "none: no such file or folder"},
           {{"import", report, "--commit", "c", "--time", "now"}, "--time: expected a time as"},
           {{"import", report, "--commit", "c", "--night", "x"}, "--night: expected a day"},
           {{"import", Write("bad.json", "{"), "--commit", "c"}, "bad.json: not valid JSON"}}) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.code, 2) << arguments[0];
    EXPECT_THAT(result.err, AllOf(StartsWith("draftmark: "), HasSubstr(message)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
  // None of these has made anything.
  EXPECT_FALSE(std::filesystem::exists(Database()));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{},
                                             {"import"},
                                             {"nothing"},
                                             {"list", "--limit", "-1"},
                                             {"list", "--what", "x"},
                                             {"retain", "--nights", "0"}}) {
    EXPECT_EQ(Run(wrong).code, 2);
  }
}

// A clock that was changed between two runs: both are kept, in the order of their nights, and it is
// said.
TEST_F(HistoryCommandTest, AClockThatWasChangedIsTold) {
  const std::string later = Write("later.json", kReport);
  std::string text = kReport;
  text.replace(text.find("2026-11-30"), 10, "2026-10-01");
  const std::string back = Write("back.json", text);
  CommandResult result = Run({"import", later, "--commit", "c", "--night", "2025-09-04"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err,
              HasSubstr("warning: later.json: its time 2026-11-30T02:24:17Z is not of "
                        "the night 2025-09-04 that it counts for: a clock may be wrong"));
  EXPECT_EQ(Run({"import", back, "--commit", "c", "--night", "2025-09-05"}).code, 0);
  HistoryReader reader = HistoryReader::Open(Database()).value();
  const std::vector<NightRow> nights = reader.NightRuns().value();
  ASSERT_EQ(nights.size(), 2u);
  EXPECT_EQ(nights[0].runs.size(), 1u);
  EXPECT_LT(nights[0].day, nights[1].day);
  // Today is in 2025.
  text.replace(text.find("2026-10-01"), 10, "2026-10-02");
  EXPECT_THAT(Run({"import", Write("ahead.json", text), "--commit", "c"}).err,
              HasSubstr("warning: ahead.json: its time 2026-10-02T02:24:17Z lies in the future"));
}

// Nothing but a total says that something failed.
TEST_F(HistoryCommandTest, AFailedSuiteIsSeenInTheList) {
  RunRecord checks = TestRun();
  checks.points.clear();
  checks.conformance.clear();
  checks.tests.clear();
  checks.program = "draftmark-gpu/run conformance";
  checks.suites = {
      {"a_test", 5, 0, 0, ""}, {"gpu_test", 310, 7, 1, ""}, {"soak", 0, 0, 0, "crashed"}};
  {
    StatusOr<History> history = History::Open(Database());
    ASSERT_THAT(history, IsOk());
    ASSERT_THAT(history->Add(checks), IsOk());
  }
  EXPECT_THAT(Run({"list"}).out, HasSubstr(", 3 suites, 2 FAILED: gpu_test, soak"));
  const Json json = Json::parse(Run({"list", "--format", "json"}).out)["runs"][0];
  EXPECT_EQ(json["suites"], 3);
  EXPECT_EQ(json["suites_failed"], 2);
  EXPECT_EQ(json["failed_suites"], "gpu_test, soak");
}

// Either all of the files or none of them.
TEST_F(HistoryCommandTest, OneBadFileImportsNothing) {
  const CommandResult result =
      Run({"import", Write("r.json", kReport), Write("z.json", "{}"), "--commit", "c"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("z.json: expected a report"));
  EXPECT_FALSE(std::filesystem::exists(Database()));
}

// Where a file says neither commit nor time the options that help are named.
TEST_F(HistoryCommandTest, PublishedResultsThatSayNoCommit) {
  const std::string operations = TestData("conformance/results/h200_operations.json");
  const CommandResult result = Run({"import", operations});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("h200_operations.json: does not say of which commit and of when it is: add "
                        "--commit ID --time 2026-11-30T02:24:17Z\n"));
  EXPECT_EQ(Run({"import", TestData("conformance/results/h200_drafts.json"),
                 TestData("conformance/results/h200_chains.json")})
                .code,
            0);
}

// What the project has published itself.
TEST_F(HistoryCommandTest, PublishedResults) {
  const CommandResult result = Run({"import", TestData("benchmarks/results/h200_drafts.json"),
                                    TestData("conformance/results/h200_drafts.json"),
                                    TestData("conformance/results/h200_operations.json"),
                                    "--commit", "c", "--time", "2026-11-30T02:24:17Z"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("published results h200_drafts.json: 6 points, 5 suites\n"),
                    HasSubstr("published results h200_operations.json: 37 points, 19 conformance "
                              "results\n"),
                    HasSubstr("3 runs added")));
  HistoryReader reader = HistoryReader::Open(Database()).value();
  EXPECT_EQ(reader.ConformanceMatrix().value().size(), 19u);
  EXPECT_EQ(reader.Environments().value().size(), 1u);
  EXPECT_EQ(Run({"check"}).code, 0);
}

TEST_F(HistoryCommandTest, RebuildAndCheck) {
  const std::string id = Import();
  EXPECT_EQ(Run({"check"}).out, Database() + ": 1 records, 0 faults\n");
  const std::string file = Database() + ".runs/" + id + ".jsonl";
  const std::string text = ReadTextFile(file).value();
  ASSERT_THAT(WriteTextFile(file, text.substr(0, 50)), IsOk());
  CommandResult result = Run({"check"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(StartsWith("FAULT " + file + ": truncated"),
                                HasSubstr("1 records, 1 faults\n")));
  EXPECT_EQ(Json::parse(Run({"check", "--format", "json"}).out)["problems"].size(), 1u);
  std::filesystem::remove(file);
  ASSERT_THAT(WriteTextFile(Database() + "-x", "keep"), IsOk());
  result = Run({"rebuild"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 records, 1 files written again, 0 runs replaced"));
  EXPECT_EQ(ReadTextFile(file).value(), text);
  ASSERT_THAT(WriteTextFile(Database(), "damaged"), IsOk());
  std::filesystem::remove(Database() + "-wal");
  result = Run({"list"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("`draftmark history rebuild --db " + Database() + "`"));
  result = Run({"rebuild"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("the damaged database is now " + Database() + ".damaged-1\n"));
  EXPECT_EQ(Run({"check"}).code, 0);
}

TEST_F(HistoryCommandTest, RecoveredRecordsAreTold) {
  { ASSERT_THAT(History::Open(Database()), IsOk()); }
  const RecordText text = RecordToJsonl(TestRun()).value();
  ASSERT_THAT(WriteTextFile(Database() + ".runs/" + text.uid + ".jsonl", text.text), IsOk());
  ASSERT_THAT(WriteTextFile(Database() + ".runs/0000000000000000.jsonl", "half"), IsOk());
  const CommandResult result = Run({"release", "v1", "--commit", "c"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("took in 1 records that only the folder had"),
                                HasSubstr("warning: " + Database() +
                                          ".runs/0000000000000000.jsonl: truncated")));
}

TEST_F(HistoryCommandTest, Merge) {
  const TestFolder other;
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(other.Path("o.db")));
    ASSERT_THAT(history.Add(TestRun()), IsOk());
    ASSERT_THAT(history.Add(TestGate()), IsOk());
  }
  Import();
  CommandResult result = Run({"merge", other.Path("o.db")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, Database() + ": 2 records added, 0 known, 0 replaced, 0 left out\n");
  ASSERT_THAT(WriteTextFile(other.Path("o.db.runs/1111111111111111.jsonl"), "{}\n"), IsOk());
  result = Run({"merge", other.Path("o.db.runs"), "--format", "json"});
  EXPECT_EQ(result.code, 1);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["known"], 2);
  EXPECT_EQ(json["problems"].size(), 1u);
  EXPECT_THAT(result.err, HasSubstr("warning: " + other.Path("o.db.runs/1111111111111111.jsonl")));
  EXPECT_EQ(Run({"merge", other.Path("none")}).code, 2);
  // For what is not there no history is made.
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"merge", other.Path("none")}, {"retain", "--nights", "3"}}) {
    std::vector<std::string> arguments = {"history"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    arguments.insert(arguments.end(), {"--db", other.Path("typo.db")});
    result = RunCommand(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_FALSE(std::filesystem::exists(other.Path("typo.db")));
    EXPECT_FALSE(std::filesystem::exists(other.Path("typo.db.runs")));
  }
  EXPECT_THAT(result.err, HasSubstr("typo.db: no such history"));
}

TEST_F(HistoryCommandTest, RetainSaysWhatItDropsAndWaits) {
  FillNights();
  CommandResult result = Run({"retain", "--nights", "3"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("would replace night 2025-09-01 of sm_90 NVIDIA H200 driver "
                               "580.159.04 CUDA 13.0 clocks default: 2 runs, 4 points\n"),
                    HasSubstr("  would delete "),
                    HasSubstr("1 nights, 2 runs; nothing was changed, --apply does it\n")));
  EXPECT_EQ(Json::parse(Run({"list", "--limit", "0", "--format", "json"}).out)["runs"].size(), 12u);
  // Today is the fifth: four days are the second to the fifth.
  EXPECT_EQ(Run({"retain", "--days", "4"}).out, result.out);
  EXPECT_THAT(Run({"retain", "--days", "5"}).out, HasSubstr("0 nights, 0 runs"));
  EXPECT_EQ(Run({"retain"}).code, 2);
  const std::string archive = folder_.Path("old");
  result = Run({"retain", "--nights", "3", "--apply", "--archive", archive});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("replace night 2025-09-01"), HasSubstr("  move "),
                                HasSubstr("1 nights, 2 runs replaced\n"), Not(HasSubstr("would"))));
  EXPECT_EQ(RealFileSystem().List(archive).value().size(), 2u);
  EXPECT_EQ(Json::parse(Run({"list", "--limit", "0", "--format", "json"}).out)["runs"].size(), 10u);
  EXPECT_EQ(Run({"check"}).code, 0);
}

TEST_F(HistoryCommandTest, DropAndRestore) {
  const std::string id = Import();
  const std::string report = folder_.Path("r.json");
  CommandResult result = Run({"drop", id.substr(0, 6), "--reason", "the GPU was shared"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "dropped " + id + " on 2025-09-05: the GPU was shared\n");
  EXPECT_EQ(Run({"list"}).out, "");
  EXPECT_EQ(Run({"list", "--what", "dropped"}).out, id + " 2025-09-05 the GPU was shared\n");
  EXPECT_EQ(
      Json::parse(Run({"list", "--what", "dropped", "--format", "json"}).out)["dropped"][0]["id"],
      id);
  result = Run({"show", id});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(id + " was dropped on 2025-09-05: the GPU was shared"));
  result = Run({"import", report, "--commit", "b8a6378"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("dropped " + id),
                                HasSubstr("0 runs added, 0 known, 0 replaced, 1 dropped\n")));
  EXPECT_EQ(Run({"rebuild"}).code, 0);
  EXPECT_EQ(Run({"list"}).out, "");
  EXPECT_EQ(Run({"check"}).out, Database() + ": 0 records, 0 faults\n");
  result = Run({"drop", id, "--reason", "again", "--format", "json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Json::parse(result.out)["outcome"], "known");
  EXPECT_EQ(Json::parse(result.out)["reason"], "the GPU was shared");

  result = Run({"restore", id.substr(0, 4)});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "added " + id + "\n");
  EXPECT_THAT(Run({"list"}).out, StartsWith(id));
  EXPECT_THAT(Run({"import", report, "--commit", "b8a6378"}).out, StartsWith("known " + id));
  EXPECT_EQ(Run({"check"}).code, 0);
  for (const auto& [arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"restore", id}, "no dropped record has the id"},
           {{"restore", "zz"}, "expected an id of a dropped record"},
           {{"drop", id, "--reason", ""}, "--reason: reason: expected a text"},
           {{"drop", id, "--reason", "a\nb"}, "without control characters"},
           {{"drop", "0123456789abcdef", "--reason", "x"}, "no record has the id"},
           {{"drop", id}, "--reason"}}) {
    result = Run(arguments);
    EXPECT_EQ(result.code, 2) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  EXPECT_EQ(Run({"check"}).out, Database() + ": 1 records, 0 faults\n");
}

TEST_F(HistoryCommandTest, Release) {
  CommandResult result = Run({"release", "v1.2", "--commit", "b8a6378", "--note", "faster"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(" release v1.2 at 2025-09-05T00:00:00Z\n"));
  EXPECT_THAT(Run({"release", "v1.2", "--commit", "b8a6378", "--note", "faster"}).out,
              StartsWith("known "));
  EXPECT_EQ(Run({"release", "v1.3", "--commit", "c", "--time", "x"}).code, 2);
  EXPECT_EQ(Run({"release", "v1.3"}).code, 2);
  HistoryReader reader = HistoryReader::Open(Database()).value();
  EXPECT_EQ(reader.Releases().value().size(), 1u);
}

}  // namespace
}  // namespace draftmark
