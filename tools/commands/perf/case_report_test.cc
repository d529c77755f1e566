#include "tools/commands/perf/case_report.h"

#include "gtest/gtest.h"

namespace draftmark {
namespace {

TEST(CaseReportTest, ExitCodes) {
  EXPECT_EQ(PerfExitCodeOf(Verdict::kSame), 0);
  EXPECT_EQ(PerfExitCodeOf(Verdict::kFaster), 0);
  EXPECT_EQ(PerfExitCodeOf(Verdict::kSlower), 1);
  EXPECT_EQ(PerfExitCodeOf(Verdict::kUnclear), 3);
  EXPECT_EQ(PerfExitCodeOf(Verdict::kInvalid), 4);
}

TEST(CaseReportTest, ShellWords) {
  EXPECT_EQ(ShellWord("a/b=1,c"), "a/b=1,c");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("$(x)"), "'$(x)'");
  EXPECT_EQ(ShellWord("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace draftmark
