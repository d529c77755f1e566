#include "src/perf/dashboard/demo_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/dashboard/load_dashboard.h"
#include "src/perf/dashboard/tally.h"
#include "src/perf/history/history_reader.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLastNight = 1796004000;  // 2026-11-30 02:00 UTC

std::vector<std::string> WriteDemo(const DemoOptions& options, const std::string& path) {
  auto history = History::Open(path);
  EXPECT_THAT(history, IsOk());
  EXPECT_THAT(WriteDemoHistory(options, *history), IsOk());
  return RealFileSystem().List(RunsFolderOf(path)).value();
}

// What the page is to show somewhere: everything but a failure of conformance.
TEST(DemoHistoryTest, HasOneOfEverything) {
  const TestFolder folder;
  WriteDemo({.cases = 16, .nights = 60, .last_night = kLastNight}, folder.Path("demo.db"));
  auto reader = HistoryReader::Open(folder.Path("demo.db"));
  ASSERT_THAT(reader, IsOk());
  const auto data = LoadDashboard(*reader, {});
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->series.size(), 48u);
  EXPECT_EQ(data->testbeds.size(), 4u);  // three with times, one that counts
  const Tally tally = TallyOf(*data);
  EXPECT_EQ(tally.slower, 2u);
  EXPECT_EQ(tally.grown, 1u);
  EXPECT_EQ(tally.failed, 0u);
  EXPECT_EQ(data->verdicts.size(), 48u);
  EXPECT_EQ(data->releases.size(), 3u);
  EXPECT_EQ(data->aa.size(), 3u);
  const auto has_verdict = [&](Verdict verdict) {
    return std::any_of(data->verdicts.begin(), data->verdicts.end(),
                       [&](const DashboardVerdict& one) { return one.verdict == verdict; });
  };
  EXPECT_TRUE(has_verdict(Verdict::kUnclear));
  EXPECT_TRUE(has_verdict(Verdict::kInvalid));
  EXPECT_TRUE(has_verdict(Verdict::kSame));
  const auto has_state = [&](CellState state) {
    return std::any_of(data->conformance.begin(), data->conformance.end(),
                       [&](const MatrixCell& cell) { return cell.state == state; });
  };
  EXPECT_TRUE(has_state(CellState::kPassed));
  EXPECT_TRUE(has_state(CellState::kWaived));
  EXPECT_TRUE(has_state(CellState::kNeverRun));
  EXPECT_TRUE(std::any_of(data->series.begin(), data->series.end(),
                          [](const DashboardSeries& one) { return one.segments.size() > 1; }));
  EXPECT_TRUE(std::any_of(data->runs.begin(), data->runs.end(),
                          [](const DashboardRun& run) { return !run.note.empty(); }));
}

// Record files are named by their content.
TEST(DemoHistoryTest, TheSameSeedGivesTheSameRecords) {
  const TestFolder folder;
  const DemoOptions options{.cases = 8, .nights = 12, .last_night = kLastNight};
  const std::vector<std::string> first = WriteDemo(options, folder.Path("1.db"));
  EXPECT_GT(first.size(), 50u);
  EXPECT_EQ(WriteDemo(options, folder.Path("2.db")), first);
  EXPECT_NE(WriteDemo({.seed = 2, .cases = 8, .nights = 12, .last_night = kLastNight},
                      folder.Path("3.db")),
            first);
}

TEST(DemoHistoryTest, TooLittleIsAnError) {
  const TestFolder folder;
  auto history = History::Open(folder.Path("demo.db"));
  ASSERT_THAT(history, IsOk());
  EXPECT_THAT(WriteDemoHistory({.cases = 7, .last_night = kLastNight}, *history),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("8 cases")));
  EXPECT_THAT(WriteDemoHistory({.nights = 11, .last_night = kLastNight}, *history),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("12 nights")));
  EXPECT_THAT(WriteDemoHistory({.nights = 400, .last_night = 86400 * 100}, *history),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("400 nights")));
}

}  // namespace
}  // namespace draftmark
