// `draftmark fuzz`: its lines, exit codes and options. What it finds: conformance/random.
#include <string>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FuzzCommandTest, SaysHowManyCasesRan) {
  const TestFolder folder;
  const CommandResult result =
      RunCommand({"fuzz", "--seed", "5", "--cases", "12", "--out", folder.Path("found")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("fuzz reference seed 5: 12 cases (9 operations, 3 histories with "));
  EXPECT_THAT(result.out, HasSubstr("proposes), 0 refused, 0 found, "));
  EXPECT_FALSE(RealFileSystem().IsDirectory(folder.Path("found")));
}

TEST(FuzzCommandTest, OneKindOfCases) {
  EXPECT_THAT(RunCommand({"fuzz", "--cases", "6", "--only", "operations"}).out,
              HasSubstr("6 cases (6 operations, 0 histories"));
  EXPECT_THAT(RunCommand({"fuzz", "--cases", "2", "--only", "histories"}).out,
              HasSubstr("2 cases (0 operations, 2 histories"));
  EXPECT_EQ(RunCommand({"fuzz", "--only", "tensors"}).code, 2);
}

TEST(FuzzCommandTest, JsonHasTheSameNumbers) {
  const CommandResult result =
      RunCommand({"fuzz", "--cases", "8", "--first", "100", "--format", "json"});
  EXPECT_EQ(result.code, 0) << result.err;
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(result.out, "out"));
  EXPECT_EQ(json["backend"], "reference");
  EXPECT_EQ(json["cases"], 8);
  EXPECT_EQ(json["operations"], 6);
  EXPECT_EQ(json["found"], 0);
  EXPECT_EQ(json["findings"], Json::array());
}

TEST(FuzzCommandTest, ABudgetIsCasesOrSeconds) {
  EXPECT_EQ(RunCommand({"fuzz", "--cases", "3", "--seconds", "3"}).code, 2);
  const CommandResult none = RunCommand({"fuzz", "--seconds", "0"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--seconds: expected at least 1"));
  EXPECT_THAT(RunCommand({"fuzz", "--seconds", "1", "--only", "operations"}).out,
              HasSubstr("0 found"));
}

TEST(FuzzCommandTest, VerifyTakesTheIdOfExtremeData) {
  const CommandResult good = RunCommand({"verify", "op/argmax/rows=4,v=17/bf16/ties"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("PASS op/argmax/rows=4,v=17/bf16/ties reference exact"));
  const CommandResult bad = RunCommand({"verify", "op/slot_fill/rows=8,band=8,ctx=4/bf16/ties"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err + bad.out, HasSubstr("expected as data nothing, found ties"));
}

}  // namespace
}  // namespace draftmark
