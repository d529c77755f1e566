#include "tools/commands/architectures/architectures_command.h"

#include <map>
#include <string>

#include "src/base/status_matchers.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::_;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

const std::vector<ArchitectureRow> kRows = {
    {"sm_75", "op/a", ArchitectureState::kNeverRun, "not built: no <BF16> & \"more\""},
    {"sm_75", "draft", ArchitectureState::kNeverRun, "not built: no <BF16> & \"more\""},
    {"sm_90", "op/a", ArchitectureState::kRun, "26 runs in x.json"},
    {"sm_90", "draft", ArchitectureState::kCompiled, "sm_90a"},
};

TEST(ArchitecturesCommandTest, Text) {
  EXPECT_EQ(ArchitecturesText({.rows = kRows, .not_counted = {"x.json: it has no `conformance`"}}),
            "sm_75   never run: not built: no <BF16> & \"more\": all\n"
            "sm_90   run: 26 runs in x.json: op/a\n"
            "sm_90   compiled: sm_90a: draft\n"
            "not counted: x.json: it has no `conformance`\n");
}

TEST(ArchitecturesCommandTest, Junit) {
  EXPECT_EQ(
      ArchitecturesJunit(kRows),
      "  <testsuite name=\"architectures\" tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"3\">\n"
      "    <testcase name=\"op/a on sm_75\" classname=\"architectures\"><skipped "
      "message=\"never run: not built: no &lt;BF16> &amp; &quot;more&quot;\"/></testcase>\n"
      "    <testcase name=\"draft on sm_75\" classname=\"architectures\"><skipped "
      "message=\"never run: not built: no &lt;BF16> &amp; &quot;more&quot;\"/></testcase>\n"
      "    <testcase name=\"op/a on sm_90\" classname=\"architectures\"></testcase>\n"
      "    <testcase name=\"draft on sm_90\" classname=\"architectures\"><skipped "
      "message=\"compiled: sm_90a\"/></testcase>\n"
      "  </testsuite>\n");
}

TEST(ArchitecturesCommandTest, OfTheCheckout) {
  const CommandResult text = RunCommand({"architectures"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("sm_75   never run: not built: "));
  EXPECT_THAT(text.out, HasSubstr("\nsm_90   run: "));
  const CommandResult json = RunCommand({"architectures", "--format", "json"});
  const Json parsed = Json::parse(json.out);
  // As many operations of each.
  std::map<std::string, std::size_t> rows;
  for (const Json& row : parsed["rows"]) ++rows[row["architecture"].get<std::string>()];
  EXPECT_GE(rows.size(), 12u);
  EXPECT_THAT(rows, Each(Pair(_, rows["sm_90"])));
  EXPECT_EQ(parsed["rows"][0]["state"], "never run");
  EXPECT_EQ(parsed["not_counted"].size(), 3u);
  EXPECT_THAT(RunCommand({"architectures", "--junit"}).out,
              StartsWith("  <testsuite name=\"architectures\""));
}

TEST(ArchitecturesCommandTest, OneFormatAtATime) {
  const CommandResult result = RunCommand({"architectures", "--junit", "--format", "json"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--junit excludes --format"));
}

}  // namespace
}  // namespace draftmark
