// The parser, and the runner with shell scripts in Python's place.
#include "benchmarks/roofline/baseline.h"

#include <filesystem>
#include <string>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kGood = R"({
 "gpu": "NVIDIA H200", "torch": "2.11.0+cu130", "max_autotune": false, "copy_bytes_per_second": 4.2e12,
 "qwen": {"bytes": 3384330752, "floor_ms": 0.8, "splits": 1, "eager_ms": 5.4, "graph_ms": 1.65,
  "fused_graph_ms": 1.62, "compile_graph_ms": 1.29, "fused_compile_ms": 1.24, "best_over_floor": 1.54}})";

std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ParseBaselineTest, TakesTheBestColumn) {
  DM_ASSERT_OK_AND_ASSIGN(BaselineTimes times, ParseBaseline(kGood, "file", "qwen"));
  EXPECT_EQ(times.torch, "2.11.0+cu130");
  ASSERT_EQ(times.columns.size(), 5u);
  EXPECT_EQ(times.columns[0].name, "eager");
  EXPECT_EQ(times.columns[0].milliseconds, 5.4);
  EXPECT_EQ(times.best().name, "fused_compile");
  EXPECT_EQ(times.best().milliseconds, 1.24);
  times = ParseBaseline(With("1.65", "0.5"), "file", "qwen").value();
  EXPECT_EQ(times.best().name, "graph");
}

TEST(ParseBaselineTest, AColumnThatFailedIsKeptAndNeverTheBest) {
  DM_ASSERT_OK_AND_ASSIGN(const BaselineTimes times,
                          ParseBaseline(With("1.24", "\"failed: InductorError\""), "file", "qwen"));
  EXPECT_EQ(times.columns[4].failure, "failed: InductorError");
  EXPECT_EQ(times.columns[4].milliseconds, 0);
  EXPECT_EQ(times.best().name, "compile_graph");
}

TEST(ParseBaselineTest, WhatIsNoResultIsRefused) {
  const auto refused = [](const std::string& text, StatusCode code, const std::string& message) {
    EXPECT_THAT(ParseBaseline(text, "file", "qwen").status(), StatusIs(code, HasSubstr(message)));
  };
  refused("{\"qwen\": {\"eager_ms\": 5.", StatusCode::kDataLoss, "file");
  refused("", StatusCode::kDataLoss, "file");
  refused("[]", StatusCode::kDataLoss, "file");
  refused("{}", StatusCode::kNotFound, "file: qwen");
  refused(With("\"compile_graph_ms\": 1.29, ", ""), StatusCode::kNotFound,
          "file: qwen.compile_graph_ms: required, but absent");
  refused(With("1.29", "null"), StatusCode::kNotFound, "compile_graph_ms");
  refused(With("1.29", "0"), StatusCode::kInvalidArgument, "a time above 0");
  refused(With("1.29", "-1"), StatusCode::kInvalidArgument, "a time above 0");
  refused(With("1.29", "NaN"), StatusCode::kDataLoss, "file");
  refused(With("1.29", "[1]"), StatusCode::kInvalidArgument, "compile_graph_ms");
  std::string all = kGood;
  for (const char* const time : {"5.4,", "1.65", "1.62", "1.29", "1.24"}) {
    const std::string from = time;
    all.replace(all.find(from), from.size(),
                from.back() == ',' ? "\"failed: A\"," : "\"failed: A\"");
  }
  refused(all, StatusCode::kInvalidArgument, "every column has failed: failed: A");
}

class PytorchBaselineTest : public ::testing::Test {
 protected:
  // A baseline whose Python is this shell script, with the same arguments: SCRIPT OUT --only NAME.
  PytorchBaseline Baseline(const std::string& script, double seconds = 60) {
    const std::string python = folder_.Path("python");
    EXPECT_THAT(
        WriteTextFile(python, "#!/bin/sh\necho $4 >>" + folder_.Path("calls") + "\n" + script),
        IsOk());
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    return PytorchBaseline({.python = python, .script = "the script.py", .seconds = seconds});
  }
  std::string calls() const { return ReadTextFile(folder_.Path("calls")).value(); }

  const TestFolder folder_;
};

TEST_F(PytorchBaselineTest, ReadsWhatTheScriptWrites) {
  PytorchBaseline baseline =
      Baseline(std::string("[ \"$1 $3 $4 $#\" = 'the script.py --only qwen 4' ] || exit 9\n"
                           "echo progress\ncat >\"$2\" <<'END'\n") +
               kGood + "\nEND\n");
  DM_ASSERT_OK_AND_ASSIGN(const BaselineTimes times, baseline.Time("qwen"));
  EXPECT_EQ(times.best().milliseconds, 1.24);
}

TEST_F(PytorchBaselineTest, WithoutPythonItIsUnavailable) {
  PytorchBaseline baseline({.python = "/nowhere/python3", .script = "x", .seconds = 60});
  EXPECT_THAT(baseline.Time("qwen").status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("/nowhere/python3: No such file")));
}

TEST_F(PytorchBaselineTest, WithoutPytorchItIsAskedOnce) {
  PytorchBaseline baseline =
      Baseline("echo 'pytorch_baseline.py: PyTorch with CUDA is needed' >&2; exit 2");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        baseline.Time("qwen").status(),
        StatusIs(StatusCode::kUnavailable, "pytorch_baseline.py: PyTorch with CUDA is needed"));
  }
  EXPECT_EQ(calls(), "qwen\n");
}

TEST_F(PytorchBaselineTest, AFailureOfOneDrafterIsItsOwn) {
  PytorchBaseline baseline = Baseline("echo Traceback; echo 'OutOfMemoryError: x'; exit 1");
  for (const char* const name : {"one", "two"}) {
    EXPECT_THAT(
        baseline.Time(name).status(),
        StatusIs(StatusCode::kInternal,
                 AllOf(HasSubstr(std::string(name) + ": the script.py ended with exit code 1"),
                       HasSubstr(": OutOfMemoryError: x"))));
  }
  EXPECT_EQ(calls(), "one\ntwo\n");
}

TEST_F(PytorchBaselineTest, NoOrBadResultsAreErrors) {
  EXPECT_THAT(Baseline("exit 0").Time("qwen").status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("qwen: ")));
  EXPECT_THAT(Baseline("echo '{' >$2").Time("qwen").status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("JSON")));
}

TEST_F(PytorchBaselineTest, ItsTimeEnds) {
  PytorchBaseline baseline = Baseline("exec sleep 600", 0.3);
  for (const char* const name : {"one", "two"}) {
    EXPECT_THAT(
        baseline.Time(name).status(),
        StatusIs(StatusCode::kUnavailable, "one was not done after 0 s (--baseline-seconds)"));
  }
  EXPECT_EQ(calls(), "one\n");
}

}  // namespace
}  // namespace draftmark
