// The contract of `draftmark bench roofline` on a machine without a GPU.
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/cuda/device.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

CommandResult Roofline(std::vector<std::string> options) {
  options.insert(options.begin(), {"bench", "roofline"});
  return RunCommand(std::move(options));
}

TEST(RooflineCommandTest, HelpNamesOptionsAndExitCodes) {
  const CommandResult result = Roofline({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const char* const text : {"--out", "--runs", "--only", "--no-baseline", "--python",
                                 "--baseline-seconds", "--format", "Exit codes: "}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
  // Where lines are broken is CLI11's matter.
  EXPECT_THAT(result.out, ContainsRegex("ten[ \n]+minutes[ \n]+only:[ \n]+--no-baseline;"));
}

TEST(RooflineCommandTest, WrongUsageIsExitCode2) {
  for (const auto& [options, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--runs", "0"}, "draftmark: --runs: expected 1 to 10000, found 0\n"},
           {{"--runs", "many"}, "--runs: expected an unsigned 64-bit integer, found many"},
           {{"--baseline-seconds", "0"}, "--baseline-seconds: expected 1 to 86400, found 0"},
           {{"--no-baseline", "--python", "python3"}, "--no-baseline"},
           {{"--only", "nothing"}, "--only: nothing has \"nothing\" in its id"},
           {{"--frob"}, "--frob"}}) {
    const CommandResult result = Roofline(options);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_EQ(RunCommand({"bench"}).code, 2);
  EXPECT_EQ(RunCommand({"bench", "rooflin"}).err,
            "draftmark: rooflin: no such subcommand\nRun with --help for more information.\n");
}

TEST(RooflineCommandTest, WithoutAGpuTheReasonIsOneLine) {
  if (ListDevices().ok()) GTEST_SKIP() << "there is a GPU";
  const CommandResult result = Roofline({"--no-baseline"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, StartsWith("draftmark: no usable CUDA device: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1);
  EXPECT_THAT(result.out, IsEmpty());
}

}  // namespace
}  // namespace draftmark
