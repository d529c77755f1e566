// The whole run on an invented machine.
#include "tools/commands/bench/roofline_run.h"

#include <sstream>
#include <string>

#include "src/base/fake_clock.h"
#include "src/base/faulty_file_system.h"
#include "src/base/json.h"
#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"
#include "tools/commands/bench/roofline_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class RooflineRunTest : public ::testing::Test {
 protected:
  Status Run(FileSystem* file_system = nullptr) {
    const StatusOr<RooflineSelection> selection = SelectRoofline(options_.only);
    if (!selection.ok()) return selection.status();
    return RunRoofline(options_, *selection, "abc", machine_, baseline_, context_,
                       file_system != nullptr ? *file_system : files_);
  }
  Json Written() { return ParseJson(ReadTextFile("out.json", files_).value(), "out.json").value(); }

  RooflineOptions options_;
  FakeMachine machine_;
  TimeBaseline baseline_ = [](const std::string&) { return FakeBaseline(3); };
  MemoryFileSystem files_;
  FakeClock clock_{2026, 11, 30};
  std::ostringstream out_;
  std::ostringstream err_;
  CommandContext context_{out_, err_, false, clock_};
};

TEST_F(RooflineRunTest, EverythingIsMeasuredAndMet) {
  options_.out = "out.json";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(context_.exit_code, kExitGood);
  EXPECT_EQ(machine_.timed.front(), "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1 100");
  const Json json = Written();
  EXPECT_EQ(json["works"].size(), 6u);
  EXPECT_EQ(json["linear"].size(), machine_.timed.size() - 6);
  EXPECT_EQ(json["linear_classes"].size(), 3u);
  EXPECT_EQ(json["commit"], "abc");
  EXPECT_EQ(json["date"], "2026-11-30");
  EXPECT_EQ(json["failed"], 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("commit abc, 2026-11-30\n"),
                                HasSubstr("draft/qwen3.8-27b-dspark/"), HasSubstr("248320 x 5120"),
                                HasSubstr("\ndrafts: 6 of 6 musts met, 6 of 6 aims\n"),
                                HasSubstr(" passed, 0 failed\n"), Not(HasSubstr("no PyTorch"))));
}

TEST_F(RooflineRunTest, OnlyWhatIsNamed) {
  options_.only = "27b";
  options_.runs = 7;
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(machine_.timed,
              ElementsAre("draft/qwen3.8-27b-dflash2/gamma=8,ctx=4096,new=8,nb=1 7",
                          "draft/qwen3.8-27b-dspark/gamma=7,ctx=4096,new=7,nb=1 7"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("Linear layers")));
  machine_.timed.clear();
  out_.str("");
  options_.only = "n=151936,k=4096";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(machine_.timed, SizeIs(5));
  EXPECT_THAT(out_.str(), AllOf(Not(HasSubstr("Drafts")), Not(HasSubstr("drafts:")),
                                HasSubstr("linear layers from 96 MB: worst 0.950 ")));
  options_.only = "nothing";
  EXPECT_THAT(Run(), StatusIs(StatusCode::kNotFound,
                              "--only: nothing has \"nothing\" in its id, such as "
                              "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1 or "
                              "linear/rows=1,n=256,k=5120"));
}

TEST_F(RooflineRunTest, AMustThatIsMissedIsExitCode1) {
  machine_.time_draft = [](const DraftCase& draft) {
    return ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(draft, 1.4)), .fast = std::nullopt};
  };
  options_.only = "draft/";
  options_.out = "out.json";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(context_.exit_code, kExitMismatch);
  EXPECT_THAT(out_.str(), HasSubstr("drafts: 1 of 6 musts met, 0 of 6 aims\n1 passed, 5 failed\n"));
  EXPECT_EQ(Written()["failed"], 5);
}

TEST_F(RooflineRunTest, ATimeThatCannotBeIsExitCode1AndTheOthersGoOn) {
  machine_.time_draft = [](const DraftCase& draft) {
    const double ratio = draft.id.find("4b") != std::string::npos ? 0.7 : 1.05;
    return ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(draft, 2)),
                             .fast = FakeRuns(FloorTimes(draft, ratio))};
  };
  options_.only = "draft/";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(context_.exit_code, kExitMismatch);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("error: draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1: fast: "),
            HasSubstr("5 passed, 1 failed\n")));
}

TEST_F(RooflineRunTest, AMachineThatIsTooSmallIsExitCode2) {
  machine_.time_linear = [](const LinearShape&, std::uint64_t) -> StatusOr<ByPath<double>> {
    return ResourceExhaustedError("out of memory");
  };
  options_.only = "n=256,";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(context_.exit_code, kExitError);
  EXPECT_THAT(out_.str(), HasSubstr("  error: linear/rows=1,n=256,k=5120: out of memory\n"));
}

TEST_F(RooflineRunTest, WithoutABaselineTheReasonIsOneLine) {
  std::vector<std::string> asked;
  baseline_ = [&](const std::string& name) -> StatusOr<BaselineTimes> {
    asked.push_back(name);
    return UnavailableError("no torch");
  };
  options_.only = "draft/";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(context_.exit_code, kExitGood);  // no error
  EXPECT_THAT(asked, ElementsAre("qwen3_8b_b16_ctx2048", "qwen3_4b_b16_ctx2048",
                                 "qwen3_8b_b16_ctx32768", "qwen3_8b_b16_ctx2048_nb8"));
  const std::string note = "no PyTorch baseline: no torch\n";
  EXPECT_THAT(out_.str(), HasSubstr(note));
  EXPECT_EQ(out_.str().find(note), out_.str().rfind(note));
}

TEST_F(RooflineRunTest, JsonOnStandardOutputIsThatOfTheFile) {
  options_.format = OutputFormat::kJson;
  options_.out = "out.json";
  options_.only = "4b";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(out_.str(), ReadTextFile("out.json", files_).value());
}

TEST_F(RooflineRunTest, AFileThatCannotBeWrittenIsFoundBeforeMeasuring) {
  options_.out = "out.json";
  FaultyFileSystem read_only({.read_only = true}, files_);
  EXPECT_THAT(Run(&read_only), StatusIs(StatusCode::kUnavailable, HasSubstr("out.json")));
  EXPECT_TRUE(machine_.timed.empty());
  // And a full disk behind it leaves nothing.
  options_.only = "4b";
  FaultyFileSystem full({.short_append = 0}, files_);
  EXPECT_THAT(Run(&full), StatusIs(StatusCode::kResourceExhausted, HasSubstr("")));
  EXPECT_FALSE(files_.IsFile("out.json"));
}

TEST(RooflineOptionsTest, NumbersHaveRanges) {
  EXPECT_THAT(CheckRooflineOptions({}), IsOk());
  RooflineOptions options;
  options.runs = 0;
  EXPECT_EQ(CheckRooflineOptions(options).message(), "--runs: expected 1 to 10000, found 0");
  options.runs = 10001;
  EXPECT_EQ(CheckRooflineOptions(options).message(), "--runs: expected 1 to 10000, found 10001");
  options.runs = 10000;
  options.baseline_seconds = 0;
  EXPECT_EQ(CheckRooflineOptions(options).message(),
            "--baseline-seconds: expected 1 to 86400, found 0");
}

}  // namespace
}  // namespace draftmark
