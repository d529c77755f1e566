// The page in Debian's Chromium, by Playwright: browser_test.py looks at what this program writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/dashboard/demo_history.h"
#include "src/perf/dashboard/load_dashboard.h"
#include "src/perf/dashboard/page.h"
#include "src/perf/dashboard/page_assets.h"
#include "src/perf/dashboard/sample_dashboard.h"
#include "src/perf/dashboard/trend.h"
#include "src/perf/history/history_reader.h"

namespace draftmark {
namespace {

constexpr int kNoBrowser = 77;  // of browser_test.py

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Python("find") == kNoBrowser) GTEST_SKIP() << output_;
    if (ThePageAssets().dygraph_script.empty()) {
      GTEST_SKIP() << "built without dygraphs: tools/setup installs libjs-dygraphs";
    }
  }

  void Write(const char* name, const DashboardData& data) {
    ASSERT_THAT(WriteTextFile(folder_.Path(name), RenderPage(data)), IsOk());
  }

  // Exit code of browser_test.py CHECK FOLDER; what it printed is in output_.
  int Python(const std::string& check) {
    const std::string command = std::string("'") + std::getenv("PYTHON") + "' '" +
                                std::getenv("SCRIPT") + "' " + check + " '" + folder_.path() +
                                "' 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return -1;
    output_.clear();
    std::array<char, 4096> buffer;
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      output_.append(buffer.data(), count);
    }
    const int status = ::pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TestFolder folder_;
  std::string output_;
};

DashboardData Analysed(DashboardData data) {
  AnalyseTrends(data);
  return data;
}

TEST_F(BrowserTest, Sample) {
  Write("sample.html", Analysed(SampleDashboard()));
  EXPECT_EQ(Python("sample"), 0) << output_;
}

TEST_F(BrowserTest, HostileText) {
  Write("sample.html", Analysed(SampleDashboard()));
  Write("hostile.html", Analysed(SampleDashboard(kHostile)));
  EXPECT_EQ(Python("hostile"), 0) << output_;
}

TEST_F(BrowserTest, Demo) {
  auto history = History::Open(folder_.Path("demo.db"));
  ASSERT_THAT(history, IsOk());
  ASSERT_THAT(WriteDemoHistory({.cases = 40, .nights = 90, .last_night = 1796004000}, *history),
              IsOk());
  auto reader = HistoryReader::Open(folder_.Path("demo.db"));
  ASSERT_THAT(reader, IsOk());
  auto data = LoadDashboard(*reader, {});
  ASSERT_THAT(data, IsOk());
  Write("demo.html", *data);
  EXPECT_EQ(Python("demo"), 0) << output_;
}

TEST_F(BrowserTest, Large) {
  Write("large.html", Analysed(LargeDashboard(500, 400, 1)));
  EXPECT_EQ(Python("large"), 0) << output_;
  std::printf("%s", output_.c_str());
}

TEST_F(BrowserTest, Empty) {
  Write("empty.html", {});
  EXPECT_EQ(Python("empty"), 0) << output_;
}

}  // namespace
}  // namespace draftmark
