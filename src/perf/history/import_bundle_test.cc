#include "src/perf/history/import_bundle.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"
#include "src/perf/history/import_verify.h"
#include "src/perf/history/junit_reader.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/result_folders.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kSummary[] = R"({
  "schema_version": 1, "command": "bench", "date": "2026-11-30T02:24:17Z", "commit": "b8a6378",
  "gpu": "NVIDIA H200", "compute_capability": "9.0", "driver": "580.159.04", "driver_cuda": "13.0",
  "toolkit_cuda": "13.0", "cublaslt": "13.1.0", "archs": "sm_90a", "passed": 3, "failed": 1,
  "skipped": 0,
  "programs": [
    {"name": "first_benchmark", "passed": 1, "failed": 0, "skipped": 0, "exit_code": 0,
     "seconds": 5, "problem": ""},
    {"name": "draftmark_roofline", "passed": 2, "failed": 0, "skipped": 0, "exit_code": 0,
     "seconds": 5, "problem": ""},
    {"name": "broken", "passed": 0, "failed": 1, "skipped": 0, "exit_code": 139, "seconds": 1,
     "problem": "ended with exit code 139 and left no complete results"}]})";

constexpr char kBenchmark[] = R"({"context": {"date": "2026-11-30T02:25:00+00:00"}, "benchmarks": [
  {"name": "op/a/rows=1/bf16", "run_type": "iteration", "real_time": 2, "time_unit": "us"}]})";

constexpr char kRoofline[] = R"({"schema_version": 1, "command": "draftmark bench roofline",
  "passed": 2, "failed": 0, "gpu": "NVIDIA H200", "driver": "580.159.04", "cuda": "13.0",
  "cublaslt": "13.1.0", "commit": "abc", "date": "2026-11-29", "runs": 100,
  "copy_bytes_per_second": 4.2e12, "works": [
    {"id": "draft/a/nb=1", "outcome": "PASS", "floor_ms": 0.8, "path": "fast", "error": null,
     "fast": {"median_ms": 1.0, "min_ms": 0.9, "p90_ms": 1.1, "queued_ms": 0.95},
     "simple": {"median_ms": 1.6, "min_ms": 1.5, "p90_ms": 1.7, "queued_ms": 1.6}},
    {"id": "draft/b/nb=1", "outcome": "FAIL", "floor_ms": 0.8, "path": null, "fast": null,
     "simple": null, "error": "no memory"}],
  "linear": [{"id": "linear/rows=1,n=2,k=3", "outcome": "PASS", "us": 10.0, "share": 0.9,
    "simple_us": 20.0, "simple_share": 0.45, "error": null}]})";

constexpr char kVerify[] =
    R"json({"device": "NVIDIA H200 (sm_90, 132 SMs, runtime CUDA 13.0)",
  "passed": 40, "failed": 3, "expected_failures": 1, "errors": ["golden/x: bad"],
  "groups": [{"suite": "sizes", "subject": "rows.json", "checks": 33, "failed": 1,
              "failures": ["row 7: expected 1, found 2"]}],
  "operations": [
    {"case": "op/a/rows=1/bf16", "backend": "cuda", "precision": "bf16", "passed": true,
     "signature": "", "used_share": 0.5, "outputs": [], "outcome": "PASS", "expectation": null},
    {"case": "op/b/rows=1/bf16", "backend": "./lib.so", "precision": "bf16", "passed": false,
     "signature": "", "used_share": 0, "no_result": "no such operation", "outcome": "SKIP",
     "expectation": null}],
  "drafts": [
    {"case": "draft/a/nb=1", "directory": "/somewhere", "backend": "cuda", "precision": "bf16",
     "scratch": "v1", "path": "fast", "passed": false, "signature": "step0.norm: bound",
     "stages": [{"stage": "a", "relative_l2": 0.5, "bound": 0.0},
                {"stage": "b", "relative_l2": 0.003, "bound": 0.004},
                {"stage": "c", "relative_l2": 0.001, "bound": 0.004}],
     "reproduce": "draftmark verify draft/a/nb=1", "outcome": "XFAIL",
     "expectation": {"case": "draft/*", "kind": "waiver", "reason": "known", "owner": "kernels",
                     "link": "x", "expires": "2026-12-31", "signature": "s"}}]})json";

constexpr char kJunit[] = R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="draftmark bench">
  <testsuite name="first_benchmark" tests="2">
    <testcase name="op/a" classname="first_benchmark"/>
    <testcase name="op/b&quot;c" classname="x"><failure message="no &lt;kernel&gt;"/></testcase>
    <testcase name="S" result="skipped"><skipped message="no GPU"><![CDATA[</x>]]></skipped></testcase>
    <testcase name="op/b&quot;c"><failure message="again"/><failure message="third"/></testcase>
  </testsuite>
  <testsuite name="broken"><testcase name="program"><error message="crashed"/></testcase></testsuite>
</testsuites>)xml";

class BundleTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_THAT(WriteTextFile(path, text, files_), IsOk());
  }
  void WriteBundle() {
    Write("r/summary.json", kSummary);
    Write("r/junit.xml", kJunit);
    Write("r/bench/first_benchmark.json", kBenchmark);
    Write("r/bench/draftmark_roofline.json", kRoofline);
    Write("r/bench/broken.json", "{\"con");
  }

  MemoryFileSystem files_;
};

TEST_F(BundleTest, Bench) {
  WriteBundle();
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<RunRecord> runs, ImportPath("r", {}, files_));
  ASSERT_THAT(runs, SizeIs(3));
  for (const RunRecord& run : runs) {
    EXPECT_EQ(run.environment,
              (Environment{"sm_90", "NVIDIA H200", "580.159.04", "13.0", "default"}));
    EXPECT_EQ(run.commit, "b8a6378");
    EXPECT_EQ(run.time, kTestTime);
    EXPECT_EQ(run.session, "bundle bench 2026-11-30T02:24:17Z");
  }
  EXPECT_EQ(runs[0].points[0].case_id, "op/a/rows=1/bf16");
  EXPECT_EQ(runs[0].command, "draftmark-gpu/run bench --only first_benchmark");
  EXPECT_EQ(runs[1].program, "draftmark_roofline");
  ASSERT_THAT(runs[1].points, SizeIs(5));
  const RunRecord& checks = runs[2];
  EXPECT_THAT(checks.points, IsEmpty());
  ASSERT_THAT(checks.suites, SizeIs(3));
  EXPECT_EQ(checks.suites[0].name, "broken");
  EXPECT_THAT(checks.suites[0].problem, HasSubstr("exit code 139"));
  EXPECT_THAT(checks.tests, SizeIs(4));
  // Again it is the same, so nothing would be added.
  const std::vector<RunRecord> again = ImportPath("r", {}, files_).value();
  EXPECT_TRUE(again == runs);
}

TEST_F(BundleTest, Conformance) {
  std::string summary = kSummary;
  summary.replace(summary.find("\"bench\""), 7, "\"conformance\"");
  summary.replace(summary.find("first_benchmark"), 15, "draftmark_verify");
  Write("r/summary.json", summary);
  Write("r/junit.xml", kJunit);
  Write("r/verify/report.json", kVerify);
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<RunRecord> runs,
                          ImportPath("r", {.commit = "mine"}, files_));
  ASSERT_THAT(runs, SizeIs(1));
  const RunRecord& run = runs[0];
  EXPECT_EQ(run.commit, "mine");
  EXPECT_EQ(run.program, "draftmark-gpu/run conformance");
  ASSERT_THAT(run.conformance, SizeIs(2));
  EXPECT_EQ(run.conformance[0].variant, "scratch v1, path fast");
  EXPECT_EQ(run.conformance[0].status, "XFAIL");
  EXPECT_DOUBLE_EQ(*run.conformance[0].used_share, 0.75);
  EXPECT_EQ(run.conformance[0].waiver, "known");
  EXPECT_EQ(run.conformance[0].expires, "2026-12-31");
  EXPECT_DOUBLE_EQ(*run.conformance[1].used_share, 0.5);
  ASSERT_THAT(run.suites, SizeIs(5));
  EXPECT_EQ(run.suites[3].name, "errors");
  EXPECT_EQ(run.suites[4].name, "sizes/rows.json");
  EXPECT_EQ(run.suites[4].passed, 32);
  EXPECT_THAT(run.tests, SizeIs(5));
}

TEST_F(BundleTest, WhatIsMissingOrWrongIsNamed) {
  for (const auto& [path, text, message] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"r/summary.json", "{}", "r/summary.json: schema_version: required"},
           {"r/summary.json", "{\"sch", "r/summary.json"},
           {"r/summary.json",
            [] {
              std::string text = kSummary;
              return text.replace(text.find("9.0"), 3, "new");
            }(),
            "compute_capability: expected a number"},
           {"r/summary.json",
            [] {
              std::string text = kSummary;
              return text.replace(text.find("T02:24:17Z"), 10, "");
            }(),
            "date: expected a time"},
           {"r/summary.json",
            [] {
              std::string text = kSummary;
              return text.replace(text.find("9.0"), 3, "unknown");
            }(),
            "compute_capability: the machine did not tell it: add --arch"},
           {"r/junit.xml", "<testsuites>", "r/junit.xml:1: not well-formed"},
           {"r/bench/first_benchmark.json", "{\"benchmarks\": []}", "r/bench/first_benchmark.json"},
           {"r/bench/first_benchmark.json", "[1]", "expected a report of Google Benchmark"}}) {
    WriteBundle();
    Write(path, text);
    const auto runs = ImportPath("r", {}, files_);
    ASSERT_FALSE(runs.ok()) << path;
    EXPECT_THAT(runs.status().message(), HasSubstr(message));
  }
  EXPECT_THAT(ImportPath("none", {}, files_),
              StatusIs(StatusCode::kNotFound, HasSubstr("none: no such file or folder")));
}

TEST_F(BundleTest, WhatTheMachineDidNotTellMayBeGiven) {
  WriteBundle();
  std::string summary = kSummary;
  for (const std::string known : {"\"9.0\"", "\"580.159.04\"", "\"NVIDIA H200\""}) {
    summary.replace(summary.find(known), known.size(), "\"unknown\"");
  }
  Write("r/summary.json", summary);
  ImportFacts facts;
  facts.environment.architecture = "sm_100";
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<RunRecord> runs, ImportPath("r", facts, files_));
  EXPECT_EQ(runs[2].environment, (Environment{"sm_100", "", "", "13.0", "default"}));
}

TEST_F(BundleTest, AFolderOfReports) {
  Write("f/a.json", kBenchmark);
  Write("f/b.txt", "x");
  std::string other = kBenchmark;
  other.replace(other.find(": 2,"), 4, ": 3,");
  Write("f/c.json", other);
  EXPECT_THAT(ImportPath("f", {.commit = "c"}, files_).value(), SizeIs(2));
  EXPECT_THAT(ImportPath("f/a.json", {.commit = "c"}, files_).value(), SizeIs(1));
  Write("e/b.txt", "x");
  EXPECT_THAT(ImportPath("e", {.commit = "c"}, files_),
              StatusIs(StatusCode::kNotFound, HasSubstr("e: expected results of the bundle")));
}

// What lies in folders of a folder is read, or refused by name; nothing is left out without a word.
TEST_F(BundleTest, FoldersInAFolder) {
  Write("night/a.json", kBenchmark);
  std::string other = kBenchmark;
  other.replace(other.find(": 2,"), 4, ": 3,");
  Write("night/more/c.json", other);
  EXPECT_THAT(ImportPath("night", {.commit = "c"}, files_).value(), SizeIs(2));
  Write("night/notes/b.txt", "x");
  EXPECT_THAT(ImportPath("night", {.commit = "c"}, files_),
              StatusIs(StatusCode::kNotFound, HasSubstr("night/notes: expected results of the")));
  Write("deep/1/2/3/4/a.json", kBenchmark);
  EXPECT_THAT(ImportPath("deep", {.commit = "c"}, files_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("deep/1/2/3/4: expected results")));
}

// One folder of all results of a night, and results that were written into those of another run.
TEST_F(BundleTest, BundlesInAFolder) {
  WriteBundle();
  const std::size_t alone = ImportPath("r", {}, files_).value().size();
  for (const char* const name : {"bench/first_benchmark.json", "junit.xml", "summary.json"}) {
    const std::string text = ReadTextFile(std::string("r/") + name, files_).value();
    for (const char* const folder : {"night/1/", "night/2/", "r/again/"}) {
      Write(std::string(folder) + name, text);
    }
  }
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<ResultFolder> found,
                          FindResultFolders("night", files_));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].path, "night/2");
  EXPECT_TRUE(found[1].is_bundle);
  EXPECT_THAT(found[1].reports, testing::ElementsAre("night/2/bench/first_benchmark.json"));
  EXPECT_GE(ImportPath("night", {}, files_).value().size(), 2u * 2u);
  EXPECT_GT(ImportPath("r", {}, files_).value().size(), alone);
}

TEST(ImportRooflineTest, Points) {
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run, ImportRoofline(kRoofline, "x/roofline.json", {}));
  EXPECT_EQ(run.commit, "abc");
  EXPECT_EQ(run.night, "2026-11-29");
  EXPECT_EQ(run.environment.gpu, "NVIDIA H200");
  ASSERT_THAT(run.points, SizeIs(5));
  EXPECT_EQ(run.points[0].case_id, "roofline/draft/a/nb=1");
  EXPECT_DOUBLE_EQ(*run.points[0].seconds, 1e-3);
  EXPECT_DOUBLE_EQ(*run.points[0].floor_share, 0.8);
  EXPECT_EQ(run.points[0].samples, 100);
  EXPECT_EQ(run.points[1].case_id, "roofline/draft/a/nb=1/path=simple");
  EXPECT_DOUBLE_EQ(*run.points[1].floor_share, 0.5);
  EXPECT_EQ(run.points[2].failure, "no memory");
  EXPECT_DOUBLE_EQ(*run.points[3].seconds, 1e-5);
  EXPECT_DOUBLE_EQ(*run.points[3].copy_share, 0.9);
  EXPECT_DOUBLE_EQ(*run.points[4].copy_share, 0.45);
  EXPECT_THAT(ImportRoofline(kVerify, "x", {}),
              StatusIs(StatusCode::kFailedPrecondition, testing::_));
  EXPECT_THAT(ImportVerify(kRoofline, "x", {}),
              StatusIs(StatusCode::kFailedPrecondition, testing::_));
}

TEST(JunitReaderTest, OnlyWhatDidNotPass) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<TestResult> tests, ReadJunit(kJunit, "j.xml"));
  EXPECT_THAT(tests, ElementsAre(TestResult{"first_benchmark", "op/b\"c", "failed", "no <kernel>"},
                                 TestResult{"first_benchmark", "S", "skipped", "no GPU"},
                                 TestResult{"first_benchmark", "op/b\"c #2", "failed", "again"},
                                 TestResult{"broken", "program", "error", "crashed"}));
}

TEST(JunitReaderTest, Hostile) {
  for (
      const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
          {"", "not well-formed"},
          {"<testsuites><testsuite>", "not well-formed"},
          {"<html/>", "found no <testsuites>"},
          {"<testsuites name='\xFF'/>", "j.xml:1: not well-formed"},
          // A result that is nobody's: the history could not write it down.
          {"<testsuites><testsuite>\n<testcase result='skipped'/></testsuite></testsuites>",
           "j.xml:2: expected a <testcase> with a name"},
          {"<testsuites><testsuite><testcase><failure/></testcase></testsuite></testsuites>",
           "j.xml:1: expected a <testcase> with a name"},
          {R"(<!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">
<!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;">]>
<testsuites><testsuite><testcase name="&e;"><failure/></testcase></testsuite></testsuites>)",
           "amplification"}}) {
    EXPECT_THAT(ReadJunit(text, "j.xml"), StatusIs(StatusCode::kDataLoss, HasSubstr(message)));
  }
}

}  // namespace
}  // namespace draftmark
