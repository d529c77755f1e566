#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/history/history.h"
#include "src/perf/history/record.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Entry(const std::string& name, double us, int repetition = 0) {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "repetition_index": {1},
          "real_time": {2}, "cpu_time": 1, "time_unit": "us"}})",
      name, repetition, us);
}

std::string Report(const std::string& entries) {
  return R"({"context": {}, "benchmarks": [)" + entries + "]}\n";
}

class CompareCommandTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.Path(name);
    EXPECT_THAT(WriteTextFile(path, text), IsOk());
    return path;
  }
  // A folder of `count` runs of one case whose times spread by +- `half_width` about `level`.
  std::string Side(const std::string& name, double level, std::size_t count = 10,
                   double half_width = 0.003, const std::string& case_name = "draft/a") {
    std::string path = folder_.Path(name);
    EXPECT_THAT(RealFileSystem().CreateDirectories(path), IsOk());
    for (std::size_t i = 0; i < count; ++i) {
      const double at = 2 * static_cast<double>(i) / static_cast<double>(count - 1) - 1;
      Write(fmt::format("{}/{:02}.json", name, i),
            Report(Entry(case_name, level * (1 + half_width * at))));
    }
    return path;
  }
  static CommandResult Compare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"perf", "compare"});
    return RunCommand(arguments);
  }

  TestFolder folder_;
};

TEST_F(CompareCommandTest, SameAndFasterAre0) {
  const std::string base = Side("base", 100);
  const CommandResult same = Compare({base, Side("same", 100.01)});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("SAME draft/a: ratio 1.0001 (99.8 % CI 0.9"));
  EXPECT_THAT(same.out, HasSubstr(", runs 10+10, detects 1."));
  EXPECT_THAT(same.out, HasSubstr("1 cases, 1 same\n"));
  EXPECT_EQ(same.err, "");
  const CommandResult faster = Compare({base, Side("faster", 90)});
  EXPECT_EQ(faster.code, 0);
  EXPECT_THAT(faster.out, HasSubstr("FASTER draft/a: ratio 0.9000"));
}

TEST_F(CompareCommandTest, SlowerIs1AndReproduces) {
  const std::string base = Side("base", 100);
  const std::string next = Side("new", 103);
  const CommandResult slower = Compare({base, next});
  EXPECT_EQ(slower.code, 1);
  EXPECT_THAT(slower.out, HasSubstr("SLOWER draft/a: ratio 1.0300 (99.8 % CI 1.0"));
  EXPECT_THAT(slower.out, HasSubstr("p 1.1e-05, runs 10+10"));
  EXPECT_THAT(slower.out, HasSubstr("100 -> 103 us"));
  EXPECT_THAT(slower.out,
              HasSubstr(fmt::format("\n  reproduce: draftmark perf compare {} {} --case=draft/a\n",
                                    base, next)));
  EXPECT_THAT(slower.out, HasSubstr("10+10 fresh runs"));
  const CommandResult again = Compare({base, next, "--case=draft/a"});
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.out, slower.out);
}

TEST_F(CompareCommandTest, ErrorsAre2) {
  const std::string base = Side("base", 100);
  EXPECT_EQ(Compare({}).code, 2);
  EXPECT_EQ(Compare({base}).code, 2);
  EXPECT_EQ(Compare({base, "--new", base}).code, 2);
  EXPECT_EQ(Compare({base, base, base}).code, 2);
  const CommandResult look = Compare({base, base, "--look", "third"});
  EXPECT_EQ(look.code, 2);
  EXPECT_THAT(look.err, HasSubstr("--look: expected first or second, found \"third\""));
  EXPECT_EQ(Compare({base, base, "--look", "0"}).code, 2);
  EXPECT_THAT(Compare({}).err, HasSubstr("expected BASE and NEW"));
  const CommandResult no_new = Compare({base, folder_.Path("none")});
  EXPECT_EQ(no_new.code, 2);
  EXPECT_THAT(no_new.err, HasSubstr("none: no such file"));
  const CommandResult itself = Compare({base, base});
  EXPECT_EQ(itself.code, 2);
  EXPECT_THAT(itself.err, HasSubstr("00.json: the same content as"));
}

TEST_F(CompareCommandTest, HostileFilesAre2WithOneLine) {
  const std::string good = Side("good", 100);
  const std::string text = Report(Entry("draft/a", 1));
  for (const auto& [bad, message] : std::vector<std::pair<std::string, std::string>>{
           {text.substr(0, text.size() / 2), "not valid JSON"},
           {"", "not valid JSON"},
           {"{}", "benchmarks: required"},
           {Report(R"({"name": "draft/a", "time_unit": "us"})"),
            "benchmarks[0].real_time: required"},
           {Report(R"({"name": "draft/a", "real_time": NaN, "time_unit": "us"})"), "found NaN"},
           {Report(Entry("draft/a", -1)), "benchmarks[0].real_time: expected a time"},
           {Report(Entry("draft/a", 1) + "," + Entry("draft/a", 1)), "is there twice"},
           {Report(R"({"name": "draft/a", "real_time": 1, "time_unit": "ns"})"),
            "benchmarks[0].time_unit: expected us as in"},
       }) {
    const std::string path = Write("bad.json", bad);
    for (const std::vector<std::string>& sides :
         std::vector<std::vector<std::string>>{{path, good}, {good, path}}) {
      const CommandResult result = Compare(sides);
      EXPECT_EQ(result.code, 2) << bad;
      // Mixed units are noticed at whichever side comes second.
      if (bad.find("\"ns\"") == std::string::npos || sides[1] == path) {
        EXPECT_THAT(result.err, HasSubstr(message));
        EXPECT_THAT(result.err, testing::StartsWith("draftmark: " + path + ": "));
      }
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_EQ(result.out, "");
    }
  }
}

TEST_F(CompareCommandTest, UnclearIs3) {
  const CommandResult few = Compare({Side("base", 100, 6), Side("few", 120, 6)});
  EXPECT_EQ(few.code, 3);
  EXPECT_THAT(few.out, HasSubstr("UNCLEAR draft/a"));
  EXPECT_THAT(few.out, HasSubstr("\n  6+6 runs; at least 7 a side are needed, 10 are usual\n"));
  EXPECT_THAT(few.out, HasSubstr(", runs 6+6, detects nothing, "));
  const CommandResult between =
      Compare({Side("b", 100, 10, 0.008), Side("n", 101.3, 10, 0.008), "--look", "second"});
  EXPECT_EQ(between.code, 3);
  EXPECT_THAT(between.out, HasSubstr("second look\n"));
  EXPECT_THAT(between.out, HasSubstr(" --look second --case=draft/a\n"));
}

TEST_F(CompareCommandTest, InvalidIs4) {
  const std::string base = Side("base", 100, 10, 0.05);
  const CommandResult noisy = Compare({base, Side("noisy", 200, 10, 0.05)});
  EXPECT_EQ(noisy.code, 4);
  EXPECT_THAT(noisy.out, HasSubstr("INVALID draft/a"));
  EXPECT_THAT(noisy.out, HasSubstr("too noisy"));
  const std::string failed =
      Write("failed.json",
            Report(R"({"name": "draft/a", "error_occurred": true, "error_message": "no GPU"})"));
  const CommandResult failure = Compare({base, failed});
  EXPECT_EQ(failure.code, 4);
  EXPECT_THAT(failure.out,
              HasSubstr(fmt::format("INVALID draft/a: failed in {}: no GPU\n  reproduce", failed)));
  EXPECT_THAT(failure.out, Not(HasSubstr("ratio")));
}

TEST_F(CompareCommandTest, NoBaselineOrNoCommonCaseIs5) {
  const std::string next = Side("new", 100);
  const CommandResult none = Compare({folder_.Path("none"), next});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("no baseline: "));
  EXPECT_THAT(RealFileSystem().CreateDirectories(folder_.Path("empty")), IsOk());
  EXPECT_EQ(Compare({folder_.Path("empty"), next}).code, 5);
  const std::string other = Side("other", 100, 10, 0.003, "draft/b");
  const CommandResult apart = Compare({other, next});
  EXPECT_EQ(apart.code, 5);
  EXPECT_THAT(apart.err, HasSubstr("no case in common: 1 only in BASE, 1 only in NEW"));
  const CommandResult unknown = Compare({Side("base", 100.01), next, "--case=x"});
  EXPECT_EQ(unknown.code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("do not both have x"));
}

TEST_F(CompareCommandTest, ASingleFilesRepetitionsAreAssumed) {
  const auto file = [&](const std::string& name, double level) {
    std::string entries;
    for (int i = 0; i < 10; ++i) {
      entries += (i == 0 ? "" : ",") + Entry("it's/a", level * (1 + 0.0003 * i), i);
    }
    return Write(name, Report(entries));
  };
  const std::string base = file("base.json", 100);
  const std::string next = file("new.json", 110);
  const CommandResult text = Compare({base, next});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, HasSubstr("runs 10+10 (runs: assumed)"));
  EXPECT_THAT(text.out, HasSubstr(R"('--case=it'\''s/a')"));
  EXPECT_THAT(text.err, HasSubstr("warning: BASE is the single file " + base));
  EXPECT_THAT(text.err, HasSubstr("warning: NEW is the single file " + next));
  const Json json = Json::parse(Compare({base, next, "--format", "json"}).out);
  EXPECT_EQ(json["runs"]["base"], "assumed");
  EXPECT_EQ(json["runs"]["new_files"], 1);
}

TEST_F(CompareCommandTest, ListsAndJson) {
  std::vector<std::string> arguments = {"--base"};
  Side("base", 100, 7);
  for (int i = 0; i < 7; ++i) arguments.push_back(folder_.Path(fmt::format("base/0{}.json", i)));
  arguments.insert(arguments.end(), {"--new", Side("new", 105, 7), "--format", "json"});
  const CommandResult result = Compare(arguments);
  EXPECT_EQ(result.code, 1) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["verdict"], "slower");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["look"], "first");
  EXPECT_EQ(json["runs"]["base"], "measured");
  EXPECT_EQ(json["runs"]["base_files"], 7);
  const Json& judged = json["cases"][0];
  EXPECT_EQ(judged["name"], "draft/a");
  EXPECT_EQ(judged["verdict"], "slower");
  EXPECT_NEAR(judged["ratio"].get<double>(), 1.05, 1e-9);
  EXPECT_NEAR(judged["base"]["value_s"].get<double>(), 100e-6, 1e-12);
  EXPECT_NEAR(judged["new"]["median_s"].get<double>(), 105e-6, 1e-12);
  EXPECT_EQ(judged["new"]["runs"], 7);
  EXPECT_LT(judged["ci_998"][0].get<double>(), judged["ci_95"][1].get<double>());
  EXPECT_GT(judged["detectable_shift"].get<double>(), 0.015);
  EXPECT_THAT(judged["reproduce"].get<std::string>(),
              HasSubstr("draftmark perf compare --base " + folder_.Path("base/00.json")));
}

// A history with ten runs at each of two levels; the ids of the runs.
std::vector<std::string> AddRuns(const std::string& database, double level,
                                 const NamedInts& counts = {}) {
  History history = History::Open(database).value();
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) {
    const double seconds = level * (1 + 0.0003 * i);
    const RunRecord run{.time = 1796005457 + i,
                        .commit = "b8a6378e00000000000000000000000000000000",
                        .environment = {.architecture = "sm_90"},
                        .program = "draft_benchmark",
                        .session = fmt::format("{}", level),
                        .points = {{.case_id = "draft/a",
                                    .seconds = seconds,
                                    .median = seconds,
                                    .samples = 30,
                                    .unit = "us",
                                    .counts = counts}}};
    ids.push_back(history.Add(run).value().uid);
  }
  return ids;
}

TEST_F(CompareCommandTest, RunsOfTheHistory) {
  const std::string database = folder_.Path("history.db");
  const std::vector<std::string> base = AddRuns(database, 1e-4);
  const std::vector<std::string> next = AddRuns(database, 1.03e-4);
  const auto compare = [&](const std::vector<std::string>& one,
                           const std::vector<std::string>& two) {
    std::vector<std::string> arguments = {"--db", database, "--base"};
    arguments.insert(arguments.end(), one.begin(), one.end());
    arguments.push_back("--new");
    arguments.insert(arguments.end(), two.begin(), two.end());
    return Compare(arguments);
  };
  const CommandResult slower = compare(base, next);
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_THAT(slower.out, HasSubstr("SLOWER draft/a: ratio 1.0300"));
  EXPECT_THAT(slower.out, HasSubstr(", runs 10+10, "));
  EXPECT_THAT(slower.out, HasSubstr("reproduce: draftmark perf compare --base " + base[0]));
  EXPECT_THAT(slower.out, HasSubstr(" --db " + database + " --case=draft/a\n"));
  EXPECT_EQ(slower.err, "");
  // An id may be cut; files and runs may be mixed.
  std::vector<std::string> cut;
  cut.reserve(next.size());
  for (const std::string& id : next) cut.push_back(id.substr(0, 12));
  EXPECT_EQ(compare({Side("files", 100)}, cut).code, 1);
  const CommandResult twice = compare(base, {base[0]});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("the same content as"));
  EXPECT_EQ(compare({"0123456789abcdef"}, next).code, 5);
  EXPECT_EQ(compare(base, {"0123456789abcdef"}).code, 2);
  EXPECT_EQ(Compare({base[0], next[0]}).code, 2);  // without a history they are files
}

TEST_F(CompareCommandTest, CountsOfTheHistory) {
  const std::string database = folder_.Path("history.db");
  const std::vector<std::string> base = AddRuns(database, 1e-4, {{"launches", 24}});
  const std::vector<std::string> next = AddRuns(database, 1.0001e-4, {{"launches", 25}});
  std::vector<std::string> arguments = {"--db", database, "--base"};
  arguments.insert(arguments.end(), base.begin(), base.end());
  arguments.push_back("--new");
  arguments.insert(arguments.end(), next.begin(), next.end());
  const CommandResult larger = Compare(arguments);
  EXPECT_EQ(larger.code, 1) << larger.err;
  EXPECT_THAT(larger.out,
              HasSubstr("\nLARGER draft/a: launches: expected 24 as in BASE, found 25 (+1)\n"));
  // Runs that only count.
  std::vector<std::string> ids;
  {
    DM_ASSERT_OK_AND_ASSIGN(History history, History::Open(database));
    for (const std::int64_t bytes : {4096, 4097}) {
      const RunRecord run{.time = 1796005457,
                          .environment = {.architecture = "sm_90"},
                          .program = "counts",
                          .points = {{.case_id = "scratch/a", .counts = {{"peak_bytes", bytes}}}}};
      ids.push_back(history.Add(run).value().uid);
    }
  }
  const CommandResult counts = Compare({"--db", database, "--base", ids[0], "--new", ids[1]});
  EXPECT_EQ(counts.code, 1) << counts.err;
  EXPECT_THAT(counts.out,
              testing::StartsWith("SAME scratch/a: counts only\nLARGER scratch/a: peak_bytes: "
                                  "expected 4096 as in BASE, found 4097 (+1)\n"));
}

// Ten runs of one case, all alike but for the time's fourth digit.
std::string CountedSide(const TestFolder& folder, const std::string& name, double level,
                        const std::string& counters) {
  std::string path = folder.Path(name);
  EXPECT_THAT(RealFileSystem().CreateDirectories(path), IsOk());
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(WriteTextFile(fmt::format("{}/{}.json", path, i),
                              Report(fmt::format(R"({{"name": "draft/a", "real_time": {},
                                "time_unit": "us"{}}})",
                                                 level * (1 + 0.0003 * i), counters))),
                IsOk());
  }
  return path;
}

TEST_F(CompareCommandTest, ALargerCountIs1AndNamed) {
  const std::string base =
      CountedSide(folder_, "base", 100, R"(, "launches": 24, "peak_bytes": 4096, "memory_kv": 7)");
  const std::string next =
      CountedSide(folder_, "new", 100.01, R"(, "launches": 25, "peak_bytes": 4095, "memory_x": 7)");
  const CommandResult larger = Compare({base, next});
  EXPECT_EQ(larger.code, 1) << larger.err;
  EXPECT_THAT(larger.out, testing::StartsWith("SAME draft/a: ratio 1.0001 "));
  EXPECT_THAT(
      larger.out,
      HasSubstr(fmt::format(
          "\nLARGER draft/a: launches: expected 24 as in BASE, found 25 (+1)\n"
          "MISSING draft/a: memory_kv: 7, only in BASE\n"
          "COUNT draft/a: memory_x: 7, only in NEW\n"
          "SMALLER draft/a: peak_bytes: expected 4096 as in BASE, found 4095 (-1)\n"
          "  reproduce: draftmark perf compare {} {} --case=draft/a\n1 cases, 1 same, 1 counts "
          "larger\nMISSING: 1 count of BASE is not in NEW; --allow-missing takes that for "
          "intended\n",
          base, next)));
  EXPECT_THAT(larger.out, Not(HasSubstr("fresh runs")));
  const CommandResult json_result = Compare({base, next, "--format", "json"});
  EXPECT_EQ(json_result.code, 1);
  const Json json = Json::parse(json_result.out);
  EXPECT_EQ(json["verdict"], "slower");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["cases"][0]["verdict"], "same");
  EXPECT_EQ(json["cases"][0]["counts"][0],
            Json::parse(R"({"counter": "launches", "base": 24, "new": 25, "change": "larger"})"));
  EXPECT_EQ(json["cases"][0]["counts"][1],
            Json::parse(R"({"counter": "memory_kv", "base": 7, "new": null, "change": null})"));
  EXPECT_EQ(json["cases"][0]["counts"][3]["change"], "smaller");
}

TEST_F(CompareCommandTest, ASmallerOrEqualCountIs0) {
  const std::string base = CountedSide(folder_, "base", 100, R"(, "allocations": 3)");
  const CommandResult fewer =
      Compare({base, CountedSide(folder_, "fewer", 100.01, R"(, "allocations": 2)")});
  EXPECT_EQ(fewer.code, 0) << fewer.out;
  EXPECT_THAT(fewer.out,
              HasSubstr("\nSMALLER draft/a: allocations: expected 3 as in BASE, found 2 (-1)\n"));
  const CommandResult equal =
      Compare({base, CountedSide(folder_, "equal", 100.01, R"(, "allocations": 3)")});
  EXPECT_EQ(equal.code, 0);
  EXPECT_THAT(equal.out, Not(HasSubstr("allocations")));
  const CommandResult wrong =
      Compare({base, CountedSide(folder_, "wrong", 100, R"(, "allocations": 2.5)")});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("benchmarks[0].allocations: expected a whole number from 0 to "
                                   "2^53, found 2.5"));
}

// A counter or a case that is gone may hide any growth: never a silent pass.
TEST_F(CompareCommandTest, WhatIsGoneIs3UnlessAllowed) {
  const std::string base = CountedSide(folder_, "base", 100, R"(, "allocations": 3)");
  const std::string gone = CountedSide(folder_, "gone", 100.01, "");
  const CommandResult counter = Compare({base, gone});
  EXPECT_EQ(counter.code, 3) << counter.out;
  EXPECT_THAT(counter.out, HasSubstr("\nMISSING draft/a: allocations: 3, only in BASE\n"));
  EXPECT_THAT(counter.out, HasSubstr("\nMISSING: 1 count of BASE is not in NEW; --allow-missing "));
  EXPECT_EQ(Compare({gone, base}).code, 0);  // one that comes is none
  const CommandResult allowed = Compare({base, gone, "--allow-missing"});
  EXPECT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_THAT(allowed.out, HasSubstr(" --allow-missing --case=draft/a\n"));

  const std::string two = folder_.Path("two");
  EXPECT_THAT(RealFileSystem().CreateDirectories(two), IsOk());
  for (int i = 0; i < 10; ++i) {
    const std::string entries = Entry("draft/a", 100 + 0.03 * i) + "," + Entry("draft/b", 7);
    EXPECT_THAT(WriteTextFile(fmt::format("{}/{}.json", two, i), Report(entries)), IsOk());
  }
  const CommandResult one_case = Compare({two, gone});
  EXPECT_EQ(one_case.code, 3) << one_case.out;
  EXPECT_THAT(one_case.out, HasSubstr("\nONLY IN BASE draft/b\n"));
  const Json json = Json::parse(Compare({two, gone, "--format", "json"}).out);
  EXPECT_EQ(json["verdict"], "unclear");
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["missing"], Json::parse(R"({"cases": 1, "counts": 0})"));
  EXPECT_EQ(Compare({two, gone, "--case=draft/a"}).code, 0);
  EXPECT_EQ(Compare({gone, two}).code, 0);
}

// 1 goes before 3 and 4 for counts too: six runs are no evidence of times.
TEST_F(CompareCommandTest, ALargerCountGoesBeforeUnclear) {
  const std::string base = folder_.Path("base.json");
  const std::string next = folder_.Path("new.json");
  const auto entry = [](int launches) {
    return Report(fmt::format(
        R"({{"name": "draft/a", "real_time": 1, "time_unit": "us", "launches": {}}})", launches));
  };
  ASSERT_THAT(WriteTextFile(base, entry(24)), IsOk());
  ASSERT_THAT(WriteTextFile(next, entry(25)), IsOk());
  EXPECT_EQ(Compare({base, next}).code, 1);
  EXPECT_EQ(Compare({next, base}).code, 3);
}

}  // namespace
}  // namespace draftmark
