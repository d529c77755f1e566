#include "src/perf/history/record.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/perf/history/record_testing.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

Status Check(HistoryRecord record) {
  Canonicalize(record);
  return CheckRecord(record);
}

template <typename T>
void ExpectRefused(const T& good,
                   const std::vector<std::pair<std::function<void(T&)>, std::string>>& changes) {
  EXPECT_THAT(Check(good), IsOk());
  for (const auto& [change, message] : changes) {
    T bad = good;
    change(bad);
    EXPECT_THAT(Check(bad), StatusIs(StatusCode::kInvalidArgument, HasSubstr(message))) << message;
  }
}

TEST(RecordTest, EveryKindIsGood) {
  for (const HistoryRecord& record : AllKindsOfRecords()) {
    EXPECT_THAT(Check(record), IsOk()) << KindOf(record);
  }
}

TEST(RecordTest, TheNightIsTheDay) {
  HistoryRecord record = TestRun();
  Canonicalize(record);
  EXPECT_EQ(std::get<RunRecord>(record).night, "2026-11-30");
  record = FullRun();
  Canonicalize(record);
  EXPECT_EQ(std::get<RunRecord>(record).night, "2026-11-29");
}

TEST(RecordTest, Runs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused<RunRecord>(
      TestRun(),
      {{[](RunRecord& r) { r.time = -1; }, "time: expected at least 0"},
       {[](RunRecord& r) { r.time = 253402300800; }, "time: expected a year"},
       {[](RunRecord& r) { r.night = "2026-02-30"; }, "night: expected a day"},
       {[](RunRecord& r) { r.program = ""; }, "program: expected a text"},
       {[](RunRecord& r) { r.environment.architecture = ""; }, "architecture: expected a text"},
       {[](RunRecord& r) { r.environment.gpu = "a\nb"; }, "environment.gpu: expected UTF-8"},
       {[](RunRecord& r) { r.commit = "\xFF"; }, "commit: expected UTF-8"},
       {[](RunRecord& r) { r.commit = std::string(16385, 'x'); }, "commit: expected UTF-8"},
       {[](RunRecord& r) { r.valid = false; }, "reason: expected a text"},
       {[](RunRecord& r) { r.source_sha256 = "abc"; }, "source_sha256: expected 64"},
       {[](RunRecord& r) { r.source_sha256 = std::string(64, 'A'); }, "source_sha256"},
       {[](RunRecord& r) {
          r.context = {{"a", "1"}, {"a", "2"}};
        },
        "context.a: expected each"},
       {[](RunRecord& r) {
          r.context = {{"", "1"}};
        },
        "context.context: expected names"},
       {[](RunRecord& r) { r.points.clear(); }, "point: expected points"},
       {[](RunRecord& r) { r.points.push_back(r.points[0]); }, "point[1].case: expected each"},
       {[](RunRecord& r) { r.points[0].case_id = ""; }, "point[0].case: expected a text"},
       {[](RunRecord& r) { r.points[0].seconds = 0; }, "point[0].seconds: expected above 0"},
       {[=](RunRecord& r) { r.points[0].seconds = nan; }, "point[0].seconds: expected a finite"},
       {[](RunRecord& r) { r.points[0].seconds = -1; }, "point[0].seconds"},
       {[](RunRecord& r) { r.points[0].median.reset(); }, "seconds, median_seconds and samples"},
       {[](RunRecord& r) { r.points[0].samples = 0; }, "seconds, median_seconds and samples"},
       {[](RunRecord& r) { r.points[0].unit = "min"; }, "unit: expected one of ns, us, ms, s"},
       {[](RunRecord& r) { r.points[0].failure = "x"; }, "failure: expected none"},
       {[](RunRecord& r) { r.points[0] = {.case_id = "a"}; }, "a time, a failure, counts"},
       {[](RunRecord& r) { r.points[0] = {.case_id = "a", .unit = "s", .failure = "x"}; },
        "unit: expected none"},
       {[](RunRecord& r) {
          r.points[0].counts = {{"x", -1}};
        },
        "counts.x: expected at least 0"},
       {[](RunRecord& r) {
          r.points[0].counts = {{"x", 1}, {"x", 2}};
        },
        "counts.x: expected each"},
       {[=](RunRecord& r) {
          r.points[0].numbers = {{"x", nan}};
        },
        "numbers.x: expected a finite"},
       {[](RunRecord& r) { r.points[0].copy_share = -0.1; }, "copy_share"}});
}

TEST(RecordTest, OtherKinds) {
  ExpectRefused<RunRecord>(
      ConformanceRun(),
      {{[](RunRecord& r) { r.conformance[0].status = "OK"; }, "status: expected one of PASS"},
       {[](RunRecord& r) { r.conformance.push_back(r.conformance[0]); }, "expected each entry"},
       {[](RunRecord& r) { r.tests[0].status = "passed"; }, "test[0].status: expected one of"}});
  ExpectRefused<GateRecord>(
      TestGate(),
      {{[](GateRecord& g) { g.mode = "x"; }, "mode: expected one of"},
       {[](GateRecord& g) { g.verdict = "x"; }, "verdict: expected one of"},
       {[](GateRecord& g) { g.verdicts[0].verdict = ""; }, "verdict[1].verdict"},
       {[](GateRecord& g) { g.verdicts[0].ratio = -1; }, "ratio"},
       {[](GateRecord& g) {
          g.base_runs = {"a", "a"};
        },
        "base_runs: expected diff"},
       {[](GateRecord& g) { g.change_points[0].night = ""; }, "night: expected a day"}});
  ExpectRefused<AaRecord>(
      TestAa(), {{[](AaRecord& a) { a.results.clear(); }, "result: expected results"},
                 {[](AaRecord& a) { a.results[0].false_alarms = 51; }, "at most as many"}});
  ExpectRefused<AcceptRecord>(
      TestAccept(), {{[](AcceptRecord& a) { a.reason = ""; }, "reason: expected a text"},
                     {[](AcceptRecord& a) { a.field = ""; }, "field: expected a text"},
                     {[](AcceptRecord& a) { a.new_value = -1; }, "new: expected at least 0"}});
  ExpectRefused<ReleaseRecord>(TestRelease(),
                               {{[](ReleaseRecord& r) { r.name = ""; }, "name: expected a text"}});
  ExpectRefused<NightRecord>(
      TestNight(), {{[](NightRecord& n) { n.replaces.clear(); }, "replaces: expected ids"},
                    {[](NightRecord& n) { n.points[0].unit = ""; }, "unit: expected one of"}});
}

}  // namespace
}  // namespace draftmark
