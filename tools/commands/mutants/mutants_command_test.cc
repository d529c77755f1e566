// The command with a script for a runner. The real runner: //conformance/mutants:mutants_test.
#include "tools/commands/mutants/mutants_command.h"

#include <sys/stat.h>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two checks; M1a is killed by its own, M1b by another, M2 not at all, M3 crashes. `alarm` is what
// the clean build says of check b.
std::string Script(const std::string& alarm) {
  return R"(#!/bin/sh
backend=$2
[ "$backend" = reference ] || { echo "mutants_runner: backend cuda: no GPU" >&2; exit 2; }
if [ "$3" = --list ]; then
  echo '{"mutants": [{"id": "M1a", "what": "one", "meant": "a", "where": ""},
    {"id": "M1b", "what": "two", "meant": "a", "where": ""},
    {"id": "M2", "what": "three", "meant": "a", "where": ""},
    {"id": "M3", "what": "four", "meant": "b", "where": "signal 6"}]}'
  exit
fi
if [ "$5" = --after ]; then echo DONE 0; exit; fi
echo CHECK a
case $4 in M1a) echo "FAIL a: wrong" ;; *) echo PASS a ;; esac
echo CHECK b
case $4 in
  none) echo ")" +
         alarm + R"(" ;;
  M1b) echo "FAIL b: wrong" ;;
  M3) kill -ABRT $$ ;;
  *) echo PASS b ;;
esac
echo DONE 2
)";
}

class MutantsCommandTest : public ::testing::Test {
 protected:
  void Write(const std::string& alarm = "PASS b") {
    ASSERT_THAT(WriteTextFile(runner_, Script(alarm)), IsOk());
    ASSERT_EQ(chmod(runner_.c_str(), 0755), 0);
  }
  CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"mutants", "--runner", runner_});
    return RunCommand(std::move(arguments));
  }
  const TestFolder folder_;
  const std::string runner_ = folder_.Path("runner");
};

TEST_F(MutantsCommandTest, SurvivorsAndOthersAreFailures) {
  Write();
  for (const char* const jobs : {"1", "3", "64"}) {
    const CommandResult result = Run({"--jobs", jobs});
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_EQ(result.out,
              "clean build: 2 checks, no alarm\n"
              "KILLED M1a one: meant a, killed by a: wrong\n"
              "OTHER M1b two: meant a, killed by b: wrong\n"
              "SURVIVED M2 three: meant a, killed by none\n"
              "KILLED M3 four: meant b (signal 6), killed by b: crashed: signal 6\n"
              "2 of 4 killed\n");
  }
}

TEST_F(MutantsCommandTest, AllKilled) {
  Write();
  const CommandResult result = Run({"--only", "M3", "--only", "M1a"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, EndsWith("\n2 of 2 killed\n"));
}

TEST_F(MutantsCommandTest, AnAlarmOfTheCleanBuildIsAFailure) {
  Write("FAIL b: odd");
  const CommandResult result = Run({"--only", "M1a"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, StartsWith("ALARM b: odd\nclean build: 2 checks, 1 of them"));
  EXPECT_THAT(result.out, EndsWith("\n1 of 1 killed\n"));
}

TEST_F(MutantsCommandTest, Json) {
  Write();
  const CommandResult result = Run({"--only", "M1", "--format", "json"});
  EXPECT_EQ(result.code, 1);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["backend"], "reference");
  EXPECT_EQ(json["clean"]["checks"], 2);
  EXPECT_EQ(json["total"], 2);
  EXPECT_EQ(json["mutants"][1]["verdict"], "other");
}

TEST_F(MutantsCommandTest, List) {
  Write();
  EXPECT_EQ(Run({"--list", "--only", "M3"}).out, "M3    four: b (signal 6)\n");
  const Json json = Json::parse(Run({"--list", "--format", "json"}).out);
  EXPECT_EQ(json["mutants"].size(), 4u);
}

TEST_F(MutantsCommandTest, Refusals) {
  const CommandResult missing = Run({});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, EndsWith("build it: bazel build //tools:mutants_runner\n"));
  // Beside the test there is none.
  const CommandResult beside = RunCommand({"mutants"});
  EXPECT_EQ(beside.code, 2);
  EXPECT_THAT(beside.err, HasSubstr("/mutants_runner: there is no such program"));
  Write();
  const CommandResult gpu = Run({"--backend", "cuda"});
  EXPECT_EQ(gpu.code, 2);
  EXPECT_EQ(gpu.err, "draftmark: " + runner_ + ": backend cuda: no GPU\n");
  EXPECT_EQ(gpu.out, "");
  const CommandResult unknown = Run({"--only", "M"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--only M: backend reference has no such mutant"));
  EXPECT_EQ(Run({"--jobs", "0"}).code, 2);
  EXPECT_EQ(Run({"--backend", "other"}).code, 2);
}

}  // namespace
}  // namespace draftmark
