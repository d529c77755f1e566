// `draftmark fuzz`: its lines, exit codes and options. What it finds: conformance/random.
#include "tools/commands/fuzz/fuzz_command.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

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

TEST(FuzzCommandTest, NoCasesAndNoNumbersAreRefused) {
  const CommandResult none = RunCommand({"fuzz", "--cases", "0"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--cases: expected at least 1"));
  const CommandResult far = RunCommand({"fuzz", "--first", "18446744073709551615", "--cases", "4"});
  EXPECT_EQ(far.code, 2);
  EXPECT_THAT(far.err, HasSubstr("--first 18446744073709551615: the last case's number"));
}

// A backend that cannot do drafts: each history is a finding.
FuzzSubject Broken() {
  FuzzSubject subject = {.name = "broken"};
  subject.drafts.push_back([](const DrafterCase&) -> StatusOr<CaseReport> {
    return InternalError("an illegal address");
  });
  return subject;
}

CommandResult FuzzBroken(const std::string& out, OutputFormat format = OutputFormat::kText) {
  std::ostringstream text, errors;
  CommandContext context = {.out = text, .err = errors};
  const FuzzRun run = {
      .fuzz = {.seed = 3, .most_cases = 2, .only = FuzzOnly::kHistories, .most_shrink_tries = 3},
      .out = out,
      .format = format};
  const Status status = RunFuzz(Broken(), "", run, context);
  if (!status.ok()) context.Fail(status);
  return {context.exit_code, text.str(), errors.str()};
}

TEST(FuzzCommandTest, AFindingIsToldAndWritten) {
  const TestFolder folder;
  const std::string out = folder.Path("found");
  for (int run = 0; run < 2; ++run) {  // the second one finds the same
    const CommandResult result = FuzzBroken(out);
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_THAT(result.out, StartsWith("FOUND " + out + "/seed3-case0: error "));
    EXPECT_THAT(result.out, HasSubstr("an illegal address"));
    EXPECT_THAT(result.out, HasSubstr("2 histories with "));
    EXPECT_THAT(result.out, HasSubstr("2 found, "));
  }
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, RealFileSystem().List(out));
  EXPECT_THAT(names, ::testing::ElementsAre("seed3-case0", "seed3-case1"));
  EXPECT_THAT(DrafterCase::Load(out + "/seed3-case0"), IsOk());
  // Another case of this name stays.
  ASSERT_THAT(WriteTextFile(out + "/seed3-case0/config.json", "{}"), IsOk());
  EXPECT_THAT(FuzzBroken(out).out, StartsWith("FOUND " + out + "/seed3-case0.2: error "));
  EXPECT_EQ(ReadTextFile(out + "/seed3-case0/config.json").value(), "{}");
}

TEST(FuzzCommandTest, AFolderThatCannotBeIsRefusedBeforeTheFirstCase) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("file"), "text"), IsOk());
  for (const std::string& out : {folder.Path("file"), folder.Path("file") + "/found"}) {
    const CommandResult result = FuzzBroken(out);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err,
                HasSubstr("--out " + out + ": " + folder.Path("file") + " is no folder"));
  }
  EXPECT_EQ(FuzzBroken("/proc/found").code, 2);
}

// It was there before the first case, and is a file when a finding is written: nothing is lost.
TEST(FuzzCommandTest, WhatCannotBeWrittenIsInTheOutput) {
  const TestFolder folder;
  const std::string out = folder.Path("found");
  FuzzSubject subject = Broken();
  subject.drafts.front() = [&](const DrafterCase&) -> StatusOr<CaseReport> {
    EXPECT_THAT(WriteTextFile(out, "in the way"), IsOk());
    return InternalError("an illegal address");
  };
  for (const OutputFormat format : {OutputFormat::kText, OutputFormat::kJson}) {
    std::filesystem::remove(out);
    std::ostringstream text, errors;
    CommandContext context = {.out = text, .err = errors};
    const FuzzRun run = {
        .fuzz = {.most_cases = 1, .only = FuzzOnly::kHistories, .most_shrink_tries = 0},
        .out = out,
        .format = format};
    EXPECT_FALSE(RunFuzz(subject, "", run, context).ok());
    EXPECT_THAT(text.str(), HasSubstr("an illegal address"));
    EXPECT_THAT(text.str(), HasSubstr("\"num_hidden_layers\": "));
    EXPECT_THAT(text.str(), HasSubstr(format == OutputFormat::kText ? "1 found, " : "\"error\": "));
  }
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
