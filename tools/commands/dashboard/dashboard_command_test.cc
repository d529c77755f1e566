#include "tools/commands/dashboard/dashboard_command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/fake_clock.h"
#include "src/base/faulty_file_system.h"
#include "src/base/file_system.h"
#include "src/base/folder_lock.h"
#include "src/base/json.h"
#include "src/base/stale_temporaries_testing.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/dashboard/sample_dashboard.h"
#include "src/perf/dashboard/trend.h"
#include "tools/commands/dashboard/write_dashboard.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DashboardCommandTest : public ::testing::Test {
 protected:
  CommandResult Run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"dashboard", "--out", folder_.Path("out")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunCommand(all, /*out_is_terminal=*/false, clock_);
  }
  std::string Read(const std::string& name) { return ReadTextFile(folder_.Path(name)).value(); }

  TestFolder folder_;
  FakeClock clock_{2026, 11, 30};
};

TEST_F(DashboardCommandTest, DemoThenTheSameFromItsDatabase) {
  const CommandResult demo =
      Run({"--demo", "--cases", "8", "--nights", "14", "--db", folder_.Path("demo.db")});
  EXPECT_EQ(demo.code, 0) << demo.err;
  EXPECT_EQ(demo.out,
            folder_.Path("out") +
                "/index.html: 24 trends of 328 points on 4 testbeds; 2 of 24 newest "
                "verdicts slower, 1 counts grown, 0 conformance failures, 0 suites failed\n");
  EXPECT_THAT(RealFileSystem().List(folder_.Path("out")).value(),
              ElementsAre("index.html", "junit.xml", "metrics.txt", "points.csv", "verdicts.csv"));
  EXPECT_THAT(Read("out/index.html"), HasSubstr("Synthetic data"));
  EXPECT_THAT(Read("out/index.html"),
              HasSubstr("Made 2026-11-30 from a synthetic history, seed 1"));
  EXPECT_THAT(Read("out/index.html"), HasSubstr(">op/markov_step<"));  // of the registry
  const std::string points = Read("out/points.csv");

  const CommandResult again = Run({"--db", folder_.Path("demo.db"), "--title", "Night & day"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, demo.out);
  EXPECT_EQ(Read("out/points.csv"), points);
  EXPECT_THAT(Read("out/index.html"), HasSubstr("<title>Night &amp; day</title>"));
  EXPECT_THAT(Read("out/index.html"), ::testing::Not(HasSubstr("Synthetic data")));
}

// What a run that was killed left is gone after the next one, and nothing else is.
TEST_F(DashboardCommandTest, LeftoversOfAKilledRunAreCleared) {
  std::filesystem::create_directories(folder_.Path("out"));
  const std::string stale = LeaveStaleTemporary(folder_.Path("out"));
  const std::string mine = folder_.Path(fmt::format("out/.draftmark-{}-0-5eab.tmp", ::getpid()));
  std::filesystem::copy(stale, mine);
  std::filesystem::last_write_time(mine, std::filesystem::last_write_time(stale));
  ASSERT_EQ(Run({"--demo", "--cases", "8", "--nights", "14"}).code, 0);
  EXPECT_THAT(RealFileSystem().List(folder_.Path("out")).value(),
              ElementsAre(fmt::format(".draftmark-{}-0-5eab.tmp", ::getpid()), "index.html",
                          "junit.xml", "metrics.txt", "points.csv", "verdicts.csv"));
}

// The page of one history and the exports of another would lie side by side. tools/torture runs two.
TEST_F(DashboardCommandTest, OneFolderIsForOneProcessAtATime) {
  const std::string out = folder_.Path("out");
  std::filesystem::create_directories(out);
  {
    DM_ASSERT_OK_AND_ASSIGN(const FolderLock lock, FolderLock::Take(out));
    const CommandResult result = Run({"--demo", "--cases", "8", "--nights", "14"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(out + ": another process is changing it"));
    EXPECT_THAT(RealFileSystem().List(out).value(), ElementsAre());
  }
  EXPECT_EQ(Run({"--demo", "--cases", "8", "--nights", "14"}).code, 0);
}

TEST_F(DashboardCommandTest, Json) {
  const CommandResult result =
      Run({"--demo", "--cases", "8", "--nights", "14", "--format", "json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["files"].back(), "index.html");
  EXPECT_EQ(json["trends"], 24);
  EXPECT_EQ(json["slower"], 2);
  EXPECT_EQ(json["grown"], 1);
}

TEST_F(DashboardCommandTest, WrongUsage) {
  EXPECT_EQ(RunCommand({"dashboard", "--demo"}).code, 2);  // no --out
  const CommandResult neither = Run({});
  EXPECT_EQ(neither.code, 2);
  EXPECT_EQ(neither.err, "draftmark: dashboard: expected --db FILE, or --demo\n");
  EXPECT_EQ(Run({"--db", "x.db", "--nights", "20"}).code, 2);  // of the demo only
  const CommandResult few = Run({"--demo", "--cases", "3"});
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("at least 8 cases"));
  EXPECT_FALSE(RealFileSystem().IsDirectory(folder_.Path("out")));
}

TEST_F(DashboardCommandTest, NoHistoryIsAnErrorThatNamesTheFile) {
  const CommandResult result = Run({"--db", folder_.Path("none.db")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(folder_.Path("none.db")));
  ASSERT_THAT(WriteTextFile(folder_.Path("text.db"), std::string(5000, 'x')), IsOk());
  EXPECT_EQ(Run({"--db", folder_.Path("text.db")}).code, 2);
  EXPECT_FALSE(RealFileSystem().IsDirectory(folder_.Path("out")));
}

// Nights that nobody measured must not get among real ones.
TEST_F(DashboardCommandTest, DemoNeverWritesIntoAHistory) {
  ASSERT_THAT(WriteTextFile(folder_.Path("real.db"), "history"), IsOk());
  const CommandResult result = Run({"--demo", "--db", folder_.Path("real.db")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("real.db: --demo writes a new history, but this is there"));
  EXPECT_EQ(Read("real.db"), "history");
}

TEST(WriteDashboardTest, AFullDiskLeavesNoPage) {
  DashboardData data = SampleDashboard();
  AnalyseTrends(data);
  const TestFolder folder;
  FaultyFileSystem files({.short_append = 4});  // the page is the fifth file
  EXPECT_THAT(WriteDashboard(data, folder.Path("out"), files),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("index.html")));
  EXPECT_THAT(RealFileSystem().List(folder.Path("out")).value(),
              ElementsAre("junit.xml", "metrics.txt", "points.csv", "verdicts.csv"));
  FaultyFileSystem read_only({.read_only = true});
  EXPECT_FALSE(WriteDashboard(data, folder.Path("other"), read_only).ok());
}

}  // namespace
}  // namespace draftmark
