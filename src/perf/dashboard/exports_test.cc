#include "src/perf/dashboard/exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/dashboard/sample_dashboard.h"
#include "src/perf/dashboard/trend.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

DashboardData Analysed(std::string_view spice = "") {
  DashboardData data = SampleDashboard(spice);
  AnalyseTrends(data);
  return data;
}

TEST(CsvTest, PointsAreExactAndHaveTheirCommit) {
  const std::string csv = PointsCsv(Analysed());
  EXPECT_TRUE(
      csv.starts_with("time,architecture,gpu,clocks_policy,driver,cuda,clocks,commit,run,"
                      "case,seconds,note,reproduce\r\n"));
  EXPECT_THAT(csv,
              HasSubstr("2026-08-30T02:00:00Z,sm_90,NVIDIA H200,locked,580.159.04,13.0,SM 1980 "
                        "MHz,"));
  EXPECT_THAT(csv, HasSubstr(",\"op/rms_norm/rows=16,h=4096/bf16\","));
  EXPECT_THAT(csv, HasSubstr("git checkout "));
}

TEST(JunitTest, WorseIsAFailure) {
  const std::string xml = JunitXml(Analysed());
  EXPECT_THAT(xml,
              HasSubstr("<testsuite name=\"perf sm_90, NVIDIA H200, locked clocks\" tests=\"3\" "
                        "failures=\"1\" errors=\"1\" skipped=\"0\">"));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"slower: +3.1 % from 1111111111111111 to "
                             "2222222222222222\">draftmark perf compare aaaa bbbb</failure>"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"counts\" tests=\"5\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("33685504 is recorded, 33685505 found"));
  EXPECT_THAT(xml,
              HasSubstr("<testsuite name=\"conformance\" tests=\"3\" failures=\"1\" errors=\"0\" "
                        "skipped=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"suites\" tests=\"2\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"2 failed, 310 passed\">Norm.Small</failure>"));
}

TEST(OpenMetricsTest, FamiliesWithoutSamplesAreLeftOut) {
  const std::string text = OpenMetrics({});
  EXPECT_EQ(text, "# EOF\n");
  EXPECT_THAT(OpenMetrics(Analysed()), HasSubstr("# UNIT draftmark_case_seconds seconds\n"));
}

// Python's csv, xml.etree and prometheus_client's OpenMetrics parser read all of it back, of plain
// names and of hostile ones, and compare it with these.
class ExportsReadBackTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ExportsReadBackTest, ByOtherReaders) {
  const DashboardData data = Analysed(GetParam());
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("points.csv"), PointsCsv(data)), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("verdicts.csv"), VerdictsCsv(data)), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("junit.xml"), JunitXml(data)), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("metrics.txt"), OpenMetrics(data)), IsOk());
  OrderedJson expected = {{"points", 0}, {"values", OrderedJson::array()}};
  std::size_t points = 0;
  for (const DashboardSeries& series : data.series) {
    points += series.points.size();
    expected["values"].push_back(series.points.back().value);
  }
  expected["points"] = points;
  expected["spice"] = GetParam();
  // What is not UTF-8 JSON cannot hold; the reader looks for its replacement too.
  ASSERT_THAT(WriteTextFile(folder.Path("expected.json"),
                            expected.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)),
              IsOk());
  const std::string command = std::string("'") + std::getenv("PYTHON") + "' '" +
                              std::getenv("SCRIPT") + "' '" + folder.path() + "'";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
INSTANTIATE_TEST_SUITE_P(Names, ExportsReadBackTest, ::testing::Values("", kHostile));

}  // namespace
}  // namespace draftmark
