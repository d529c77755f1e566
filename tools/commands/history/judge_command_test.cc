#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

constexpr char kSummary[] = R"({
  "schema_version": 1, "command": "conformance", "date": "2026-11-30T02:24:17Z",
  "commit": "b8a6378", "gpu": "unknown", "compute_capability": "unknown", "driver": "unknown",
  "driver_cuda": "13.0", "toolkit_cuda": "13.0", "cublaslt": "", "archs": "sm_90a", "passed": 3,
  "failed": 0, "skipped": 1,
  "programs": [
    {"name": "draftmark_verify", "passed": 2, "failed": 0, "skipped": 1, "exit_code": 0,
     "seconds": 5, "problem": ""},
    {"name": "kernels/gpu_test", "passed": 1, "failed": 0, "skipped": 0, "exit_code": 0,
     "seconds": 5, "problem": ""}]})";

constexpr char kJunit[] = R"xml(<testsuites>
  <testsuite name="draftmark_verify">
    <testcase name="op/a/rows=1/bf16"/><testcase name="draft/a"><skipped message="XFAIL"/></testcase>
  </testsuite>
  <testsuite name="kernels/gpu_test.Norm"><testcase name="Small"/></testsuite>
</testsuites>)xml";

constexpr char kVerify[] = R"json({"device": "NVIDIA H200 (sm_90, 132 SMs)",
  "passed": 2, "failed": 0, "expected_failures": 1, "errors": [], "groups": [], "drafts": [],
  "operations": [
    {"case": "op/a/rows=1/bf16", "backend": "cuda", "precision": "bf16", "passed": true,
     "signature": "", "used_share": 0.5, "outputs": [], "outcome": "PASS", "expectation": null}]})json";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class JudgeCommandTest : public testing::Test {
 protected:
  std::string Bundle(const std::string& name, const std::string& summary, const std::string& junit,
                     const std::string& verify = kVerify) {
    std::string folder = folder_.Path(name);
    EXPECT_THAT(RealFileSystem().CreateDirectories(folder + "/verify"), IsOk());
    EXPECT_THAT(WriteTextFile(folder + "/summary.json", summary), IsOk());
    EXPECT_THAT(WriteTextFile(folder + "/junit.xml", junit), IsOk());
    EXPECT_THAT(WriteTextFile(folder + "/verify/report.json", verify), IsOk());
    return folder;
  }
  static CommandResult Judge(std::vector<std::string> paths) {
    paths.insert(paths.begin(), {"history", "judge"});
    return RunCommand(std::move(paths));
  }

  TestFolder folder_;
};

TEST_F(JudgeCommandTest, GoodIs0) {
  const std::string folder = Bundle("good", kSummary, kJunit);
  const CommandResult good = Judge({folder});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, folder + ": 0 failures, 0 programs broken\n");
  EXPECT_EQ(good.err, "");
}

TEST_F(JudgeCommandTest, AFailedTestIs1AndNamed) {
  const std::string failed = Bundle(
      "failed", Replaced(kSummary, R"("passed": 1, "failed": 0)", R"("passed": 0, "failed": 1)"),
      Replaced(kJunit, R"(<testcase name="Small"/>)",
               R"(<testcase name="Small"><failure message="off by 3"/></testcase>)"));
  const CommandResult one = Judge({Bundle("good", kSummary, kJunit), failed});
  EXPECT_EQ(one.code, 1) << one.err;
  EXPECT_THAT(one.out, HasSubstr("good: 0 failures, 0 programs broken\n"
                                 "FAIL kernels/gpu_test: 1 failed, 0 passed, 0 skipped\n"
                                 "FAIL kernels/gpu_test.Norm Small: off by 3\n" +
                                 failed + ": 2 failures, 0 programs broken\n"));
  const Json json = Json::parse(Judge({failed, "--format", "json"}).out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["broken"], 0);
  EXPECT_EQ(json["checked"], true);
  EXPECT_EQ(json["paths"][0]["failures"][1], "kernels/gpu_test.Norm Small: off by 3");
  // Each of the files is enough: the summary alone, and the tests alone.
  EXPECT_EQ(Judge({Bundle("summary",
                          Replaced(kSummary, R"("passed": 1, "failed": 0)",
                                   R"("passed": 0, "failed": 1)"),
                          kJunit)})
                .code,
            1);
  EXPECT_EQ(Judge({Bundle("junit", kSummary,
                          Replaced(kJunit, R"(<testcase name="Small"/>)",
                                   R"(<testcase name="Small"><failure message="x"/></testcase>)"))})
                .code,
            1);
}

TEST_F(JudgeCommandTest, AReportOfVerifyAlone) {
  const std::string path = folder_.Path("report.json");
  ASSERT_THAT(WriteTextFile(path, kVerify), IsOk());
  EXPECT_EQ(Judge({path}).code, 0);
  for (const std::string outcome : {"FAIL", "UNEXPECTED PASS", "EXPIRED", "CHANGED SIGNATURE"}) {
    std::string text = Replaced(kVerify, "\"PASS\"", "\"" + outcome + "\"");
    text = Replaced(text, R"("signature": "")", R"("signature": "y: bound")");
    ASSERT_THAT(WriteTextFile(path, text), IsOk());
    const CommandResult failed = Judge({path});
    EXPECT_EQ(failed.code, 1);
    EXPECT_EQ(failed.out, "FAIL op/a/rows=1/bf16 cuda bf16: " + outcome + " (y: bound)\n" + path +
                              ": 1 failures, 0 programs broken\n");
  }
  ASSERT_THAT(WriteTextFile(path, Replaced(kVerify, "\"PASS\"", "\"XFAIL\"")), IsOk());
  EXPECT_EQ(Judge({path}).code, 0);
}

// A program without results is no failed test: what it would have found is not known.
TEST_F(JudgeCommandTest, ABrokenProgramIs2) {
  const std::string summary =
      Replaced(kSummary, R"("passed": 1, "failed": 0, "skipped": 0, "exit_code": 0,
     "seconds": 5, "problem": "")",
               R"("passed": 0, "failed": 1, "skipped": 0, "exit_code": 139, "seconds": 5,
               "problem": "ended with exit code 139 and left no complete results")");
  const std::string junit =
      Replaced(kJunit, R"(<testsuite name="kernels/gpu_test.Norm"><testcase name="Small"/>)",
               R"(<testsuite name="kernels/gpu_test"><testcase name="program"><error message="x"/>
               </testcase>)");
  const std::string folder = Bundle("broken", summary, junit);
  const CommandResult broken = Judge({folder});
  EXPECT_EQ(broken.code, 2);
  EXPECT_EQ(broken.out,
            "BROKEN kernels/gpu_test: ended with exit code 139 and left no complete results\n" +
                folder + ": 0 failures, 1 programs broken\n");
  // A failure that is known goes before it.
  EXPECT_EQ(Judge({Bundle("both", summary,
                          Replaced(junit, R"(<testcase name="op/a/rows=1/bf16"/>)",
                                   R"(<testcase name="op/a/rows=1/bf16"><failure message="FAIL"/>
                                   </testcase>)"))})
                .code,
            1);
}

// Times are the gate's to judge, but a benchmark that crashed must be noticed by someone.
TEST_F(JudgeCommandTest, OfABenchRunOnlyWhatBroke) {
  const std::string bench = Replaced(kSummary, "conformance", "bench");
  const CommandResult none = Judge({Bundle("bench", bench, "<testsuites/>")});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.out, HasSubstr("bench: no conformance results\n"));
  const std::string invalid =
      Replaced(bench, R"("passed": 1, "failed": 0)", R"("passed": 0, "failed": 1)");
  EXPECT_EQ(Judge({Bundle("invalid", invalid, "<testsuites/>")}).code, 3);
  const std::string crashed = Replaced(bench, R"("problem": "")", R"("problem": "crashed")");
  const CommandResult broken = Judge({Bundle("crashed", crashed, "<testsuites/>")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.out, HasSubstr("BROKEN draftmark_verify: crashed\n"));
  // With conformance beside it that is what counts.
  EXPECT_EQ(Judge({folder_.Path("bench"), Bundle("good", kSummary, kJunit)}).code, 0);
}

TEST_F(JudgeCommandTest, ErrorsAre2) {
  EXPECT_EQ(Judge({}).code, 2);
  const CommandResult none = Judge({folder_.Path("none")});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("none: no such file or folder"));
  const std::string text = kSummary;
  for (const std::string& cut : {text.substr(0, text.size() / 2), std::string("[]"),
                                 Replaced(text, R"("schema_version": 1)", R"("schema_version": 2)"),
                                 Replaced(text, R"("failed": 0, "skipped": 1, "exit)",
                                          R"("failed": -1, "skipped": 1, "exit)")}) {
    const CommandResult bad = Judge({Bundle("bad", cut, kJunit)});
    EXPECT_EQ(bad.code, 2) << cut;
    EXPECT_THAT(bad.err, HasSubstr("bad"));
    EXPECT_EQ(bad.out, "");
  }
  EXPECT_EQ(Judge({Bundle("bad", kSummary, "<testsuites><testsuite")}).code, 2);
}

}  // namespace
}  // namespace draftmark
