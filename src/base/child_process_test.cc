#include "src/base/child_process.h"

#include <chrono>
#include <csignal>
#include <string>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

StatusOr<ChildResult> Shell(const std::string& script, double seconds = 60,
                            const std::string& directory = "") {
  return RunChild({"sh", "-c", script}, {.seconds = seconds, .directory = directory});
}

TEST(ChildProcessTest, GivesOutputAndExitCode) {
  DM_ASSERT_OK_AND_ASSIGN(const ChildResult child, Shell("echo one; echo two >&2; exit 3"));
  EXPECT_EQ(child.exit_code, 3);
  EXPECT_EQ(child.output, "one\ntwo\n");
  EXPECT_FALSE(child.timed_out);
}

TEST(ChildProcessTest, PassesArgumentsAsTheyAre) {
  DM_ASSERT_OK_AND_ASSIGN(const ChildResult child,
                          RunChild({"printf", "%s|", "a b", "$HOME", ""}, {.seconds = 60}));
  EXPECT_EQ(child.output, "a b|$HOME||");
}

TEST(ChildProcessTest, RunsInItsFolderWithoutInput) {
  const TestFolder folder;
  DM_ASSERT_OK_AND_ASSIGN(const ChildResult child, Shell("pwd -P; cat", 60, folder.path()));
  EXPECT_THAT(child.output, EndsWith(folder.path().substr(folder.path().rfind('/')) + "\n"));
  EXPECT_THAT(Shell("true", 60, folder.Path("none")).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("cannot start sh in ")));
}

TEST(ChildProcessTest, LongOutputLosesItsBeginning) {
  DM_ASSERT_OK_AND_ASSIGN(const ChildResult child,
                          Shell("i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i+1)); done"));
  EXPECT_EQ(child.output.size(), 64u << 10);
  EXPECT_THAT(child.output, EndsWith("\n29998\n29999\n"));
}

TEST(ChildProcessTest, ASignalIsAnExitCode) {
  EXPECT_EQ(Shell("kill -SEGV $$").value().exit_code, 128 + 11);
}

TEST(ChildProcessTest, AProgramThatDoesNotStartIsAnError) {
  EXPECT_THAT(RunChild({"/nowhere/python3"}, {.seconds = 60}).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("cannot start /nowhere/python3: ")));
  EXPECT_THAT(RunChild({"no-such-program-anywhere"}, {.seconds = 60}).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("No such file")));
  EXPECT_THAT(RunChild({"/etc/passwd"}, {.seconds = 60}).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("Permission denied")));
}

// Its children as well: a test that waits for them would take a minute.
TEST(ChildProcessTest, IsKilledWhenItsTimeIsUp) {
  const auto begin = std::chrono::steady_clock::now();
  DM_ASSERT_OK_AND_ASSIGN(const ChildResult child, Shell("echo begun; sleep 600 & wait", 0.5));
  EXPECT_TRUE(child.timed_out);
  EXPECT_EQ(child.exit_code, 128 + 9);
  EXPECT_EQ(child.output, "begun\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(ChildProcessTest, AnEndThatNobodySeesIsAnError) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const Status status = Shell("true", 1).status();
  std::signal(SIGCHLD, before);
  EXPECT_THAT(status, StatusIs(StatusCode::kInternal, HasSubstr("cannot wait for a program")));
}

TEST(LastLineTest, IsTheLastWithText) {
  EXPECT_EQ(LastLine("first\nlast \xc3\xa4 words\t\n  \n\n"), "last  words");
  EXPECT_EQ(LastLine("no end"), "no end");
  EXPECT_EQ(LastLine("\n \n"), "");
  EXPECT_EQ(LastLine(""), "");
  EXPECT_EQ(LastLine(std::string(1000, 'x')).size(), 300u);
}

}  // namespace
}  // namespace draftmark
