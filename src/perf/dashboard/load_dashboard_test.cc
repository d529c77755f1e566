#include "src/perf/dashboard/load_dashboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/perf/dashboard/tally.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/record.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNight = 1796004000;  // 2026-11-30 02:00 UTC
constexpr std::int64_t kDay = 86400;
constexpr char kCase[] = "op/rms_norm/rows=16,h=4096/bf16";

Environment H200(const std::string& driver = "580") {
  return {"sm_90", "NVIDIA H200", driver, "13.0", "locked"};
}

class LoadDashboardTest : public ::testing::Test {
 protected:
  void Add(const HistoryRecord& record) {
    auto history = History::Open(Path());
    ASSERT_THAT(history, IsOk());
    ASSERT_THAT(history->Add(record), IsOk());
  }

  RunRecord Run(std::int64_t time, double seconds, const Environment& environment = H200(),
                std::int64_t number = 0) const {
    RunRecord run{.time = time, .commit = "c" + std::to_string(time / kDay)};
    run.environment = environment;
    run.program = "operations_benchmark";
    run.number = number;
    run.command = "draftmark perf nightly";
    run.context = {{"sm_clock_mhz", "1980"}, {"cublaslt_version", "130102"}};
    Point point{.case_id = kCase, .seconds = seconds, .median = seconds, .samples = 30};
    point.unit = "us";
    point.reproduce = std::string("bench --case=") + kCase;
    point.bytes_per_second = 2e12;
    point.flops_per_second = 3e12;
    point.copy_share = 0.5;
    point.floor_share = 0.625;
    run.points = {point};
    return run;
  }

  DashboardData Load(const LoadOptions& options = {}) {
    auto reader = HistoryReader::Open(Path());
    EXPECT_THAT(reader, IsOk());
    auto data = LoadDashboard(*reader, options);
    EXPECT_THAT(data, IsOk());
    return std::move(data).value();
  }

  std::string Path() const { return folder_.Path("history.db"); }

 private:
  TestFolder folder_;
};

// Two cases of one night, by two commits: each point shows its own, also where the other one came
// later, and the nights around them stay one run each.
TEST_F(LoadDashboardTest, APointHasTheCommitThatMeasuredIt) {
  RunRecord first = Run(kNight, 1e-6), second = Run(kNight + 600, 2e-6, H200(), 1);
  first.commit = "earlier";
  second.commit = "later";
  second.points[0].case_id = "op/rope/rows=16,heads=32,d=128,rotary=128,half_head=0/bf16";
  for (const RunRecord& run : {Run(kNight - kDay, 3e-6), first, second, Run(kNight + kDay, 4e-6)}) {
    Add(run);
  }
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 2u);
  ASSERT_EQ(data.runs.size(), 4u);
  for (const DashboardSeries& series : data.series) {
    const bool is_first = series.case_id == kCase;
    ASSERT_EQ(series.points.size(), is_first ? 3u : 1u);
    const DashboardRun& run = data.runs[series.points[is_first ? 1 : 0].run];
    EXPECT_EQ(run.commit, is_first ? "earlier" : "later");
    EXPECT_EQ(run.time, is_first ? kNight : kNight + 600);
  }
}

// A run of which nothing but a total says that something failed.
TEST_F(LoadDashboardTest, SuitesThatFailedStandFirst) {
  RunRecord checks = Run(kNight, 1e-6);
  checks.points.clear();
  checks.program = "draftmark-gpu/run conformance";
  checks.suites = {
      {"a_test", 5, 0, 0, ""}, {"gpu_test", 310, 7, 1, ""}, {"soak", 0, 0, 0, "crashed"}};
  for (int i = 0; i < 7; ++i) {
    checks.tests.push_back({"gpu_test", "Norm." + std::to_string(i), "failed", "off by one"});
  }
  Add(checks);
  DashboardData data = Load();
  ASSERT_EQ(data.suites.size(), 3u);
  EXPECT_EQ(data.suites[0].name, "gpu_test");
  EXPECT_EQ(data.suites[0].architecture, "sm_90");
  EXPECT_EQ(data.suites[0].failures, 7u);
  EXPECT_EQ(data.suites[0].detail, "Norm.0; Norm.1; Norm.2; Norm.3; Norm.4; and 2 more");
  EXPECT_EQ(data.suites[1].name, "soak");
  EXPECT_EQ(data.suites[1].detail, "crashed");
  EXPECT_FALSE(data.suites[2].failed);
  EXPECT_EQ(TallyOf(data).suites_failed, 2u);
  // The newest total counts; goals of speed that were missed are none of conformance.
  checks.time += 600;
  checks.suites = {{"gpu_test", 317, 0, 1, ""}};
  checks.tests.clear();
  Add(checks);
  RunRecord bench = checks;
  bench.program = std::string(kBenchProgram);
  bench.suites = {{"roofline", 3, 2, 0, ""}, {"soak", 1, 0, 0, ""}};
  bench.time += 600;
  Add(bench);
  EXPECT_EQ(TallyOf(Load()).suites_failed, 0u);
}

TEST_F(LoadDashboardTest, ANightIsTheMedianOfItsRuns) {
  for (const int number : {0, 1, 2}) {
    Add(Run(kNight + number * 600, 1e-6 * (number == 1 ? 9 : 1 + number), H200(), number));
  }
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 1u);
  const DashboardSeries& series = data.series[0];
  EXPECT_EQ(series.case_id, kCase);
  ASSERT_EQ(series.points.size(), 1u);
  EXPECT_DOUBLE_EQ(series.points[0].value, 3e-6);
  EXPECT_EQ(series.segments.size(), 1u);
  EXPECT_EQ(series.reproduce, std::string("bench --case=") + kCase);
  EXPECT_FLOAT_EQ(static_cast<float>(*series.floor_share), 0.625f);
  EXPECT_EQ(series.bytes_per_second, 2e12);
  ASSERT_EQ(data.testbeds.size(), 1u);
  EXPECT_DOUBLE_EQ(*data.testbeds[0].copy_bandwidth, 4e12);
  ASSERT_EQ(data.runs.size(), 1u);
  EXPECT_EQ(data.runs[0].time, kNight + 1200);  // of the last run
  EXPECT_EQ(data.runs[0].driver, "580");
  EXPECT_EQ(data.runs[0].clocks, "locked, sm_clock_mhz 1980");
  EXPECT_EQ(data.runs[0].command, "draftmark perf nightly");
}

// The newest run that measured it says how fast the machine multiplies; what is no number says
// nothing.
TEST_F(LoadDashboardTest, ThePeakOfATestbedIsMeasured) {
  Add(Run(kNight - 2 * kDay, 1e-6));
  EXPECT_EQ(Load().testbeds[0].peak_flops, std::nullopt);
  const auto add = [&](std::int64_t time, const std::string& flops, bool valid = true) {
    RunRecord run = Run(time, 1e-6);
    run.context.emplace_back("gemm_flops_per_second", flops);
    run.valid = valid;
    if (!valid) run.reason = "shared";
    Add(run);
  };
  add(kNight, "7.5e14");
  add(kNight - kDay, "6e14");
  add(kNight + kDay, "nan");
  add(kNight + 2 * kDay, "-1");
  add(kNight + 3 * kDay, "9e14", false);
  EXPECT_EQ(Load().testbeds[0].peak_flops, 7.5e14);
}

// From the tenth night on the machine is slower by 5 %, copies and products alike: no change of a
// case.
TEST_F(LoadDashboardTest, ADriftOfTheMachineIsNoChangeOfLevel) {
  for (int night = 0; night < 20; ++night) {
    const double drift = night >= 10 ? 1.05 : 1;
    RunRecord run = Run(kNight + night * kDay, 1e-6 * drift * (1 + 0.001 * (night % 3)));
    run.context.emplace_back("copy_bytes_per_second", std::to_string(4e12 / drift));
    Add(run);
  }
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 1u);
  EXPECT_EQ(data.series[0].segments.size(), 1u);
  EXPECT_DOUBLE_EQ(data.series[0].points[19].value, 1e-6 * 1.05 * 1.001);  // as measured
  EXPECT_NEAR(data.series[0].points[19].steady / data.series[0].points[0].steady, 1.001, 1e-6);
}

// The copy is as fast as ever, and what is slower is the arithmetic that bounds the case.
TEST_F(LoadDashboardTest, ArithmeticIsDividedByTheGemm) {
  for (int night = 0; night < 20; ++night) {
    const double drift = night >= 10 ? 1.05 : 1;
    RunRecord run = Run(kNight + night * kDay, 1e-6 * drift * (1 + 0.001 * (night % 3)));
    run.points[0].flops_per_second = 6e14;
    run.context.emplace_back("copy_bytes_per_second", "4e12");
    run.context.emplace_back("gemm_flops_per_second", std::to_string(7e14 / drift));
    Add(run);
  }
  EXPECT_EQ(Load().series[0].segments.size(), 1u);
}

TEST_F(LoadDashboardTest, AChangeOfTheCaseIsSeenUnderADrift) {
  for (int night = 0; night < 20; ++night) {
    const double drift = 1 + 0.01 * (night % 7);
    const double step = night >= 10 ? 1.03 : 1;
    RunRecord run = Run(kNight + night * kDay, 1e-6 * drift * step * (1 + 0.001 * (night % 3)));
    run.context.emplace_back("copy_bytes_per_second", std::to_string(4e12 / drift));
    Add(run);
  }
  const DashboardData data = Load();
  ASSERT_EQ(data.series[0].segments.size(), 2u);
  EXPECT_EQ(data.series[0].segments[1].first, 10u);
}

// A clock that went back does not move a night: nothing is lost, and the nights keep their order.
TEST_F(LoadDashboardTest, NightsKeepTheirOrderWhateverTheClockSays) {
  for (const auto& [night, time, seconds] :
       std::vector<std::tuple<std::string, std::int64_t, double>>{
           {"2026-11-30", kNight, 1e-6},
           {"2026-12-01", kNight - 3600, 2e-6},        // an hour back, across the night
           {"2026-12-02", kNight - 400 * kDay, 3e-6},  // a dead battery
           {"2026-12-03", kNight + 3 * kDay, 4e-6},
           {"2026-12-04", kNight + 4000 * kDay, 5e-6},  // ahead of its time
           {"2026-12-05", kNight + 5 * kDay, 6e-6}}) {
    RunRecord run = Run(time, seconds);
    run.night = night;
    Add(run);
  }
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 1u);
  ASSERT_EQ(data.series[0].points.size(), 6u);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(data.series[0].points[i].value, 1e-6 * static_cast<double>(i + 1));
    EXPECT_GE(data.runs[data.series[0].points[i].run].time, before);
    before = data.runs[data.series[0].points[i].run].time;
  }
  EXPECT_LT(before, kNight + 6 * kDay);
}

TEST_F(LoadDashboardTest, ANewDriverGoesOnInTheSameTrend) {
  Add(Run(kNight - kDay, 1e-6));
  Add(Run(kNight, 2e-6, H200("590")));
  Environment other = H200();
  other.clocks = "default";
  Add(Run(kNight, 3e-6, other));
  const DashboardData data = Load();
  ASSERT_EQ(data.testbeds.size(), 2u);  // by clocks policy
  ASSERT_EQ(data.series.size(), 2u);
  const DashboardSeries& series =
      data.series[0].points.size() == 2 ? data.series[0] : data.series[1];
  ASSERT_EQ(series.points.size(), 2u);
  EXPECT_EQ(data.runs[series.points[0].run].driver, "580");
  EXPECT_EQ(data.runs[series.points[1].run].driver, "590");
  EXPECT_DOUBLE_EQ(series.points[1].value, 2e-6);
}

TEST_F(LoadDashboardTest, ANewSchemaIsAnotherTrend) {
  Add(Run(kNight - kDay, 1e-6));
  RunRecord run = Run(kNight, 2e-6);
  run.points[0].schema = 2;
  Add(run);
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 1u);
  ASSERT_EQ(data.series[0].points.size(), 1u);
  EXPECT_DOUBLE_EQ(data.series[0].points[0].value, 2e-6);
}

TEST_F(LoadDashboardTest, ANightWithoutAValidRunHasNoPointAndSaysWhy) {
  Add(Run(kNight - kDay, 1e-6));
  RunRecord run = Run(kNight, 2e-6);
  run.valid = false;
  run.reason = "another process on the GPU";
  Add(run);
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 1u);
  EXPECT_EQ(data.series[0].points.size(), 1u);
  ASSERT_EQ(data.runs.size(), 2u);
  EXPECT_EQ(data.runs[1].note, "another process on the GPU");
  EXPECT_EQ(data.runs[0].note, "");
}

TEST_F(LoadDashboardTest, OneValidRunMakesANight) {
  RunRecord run = Run(kNight, 9e-6);
  run.valid = false;
  run.reason = "clock moved";
  Add(run);
  Add(Run(kNight + 600, 1e-6, H200(), 1));
  const DashboardData data = Load();
  ASSERT_EQ(data.series.size(), 1u);
  ASSERT_EQ(data.series[0].points.size(), 1u);
  EXPECT_DOUBLE_EQ(data.series[0].points[0].value, 1e-6);
  EXPECT_EQ(data.runs[0].note, "");
}

TEST_F(LoadDashboardTest, VerdictsNewestFirstThenTheWorst) {
  Add(Run(kNight, 1e-6));
  GateRecord gate{.time = kNight + 1};
  gate.mode = "gate";
  gate.environment = H200();
  gate.base_commit = "aaaa";
  gate.next_commit = "bbbb";
  gate.verdict = "slower";
  gate.exit_code = 1;
  gate.advisory = true;
  GateVerdict same{.case_id = "op/a/rows=1/bf16", .verdict = "same"};
  same.ratio = 1.001;
  GateVerdict slower{.case_id = kCase, .verdict = "slower"};
  slower.ratio = 1.04;
  slower.ci_low = 1.03;
  slower.ci_high = 1.05;
  slower.p = 1e-5;
  slower.confirmed = true;
  slower.reproduce = "draftmark perf gate";
  GateVerdict count{.case_id = "scratch/x/y/z=1", .metric = "q_buf", .verdict = "slower"};
  count.old_count = 10;
  count.new_count = 11;
  gate.verdicts = {same, slower, count};
  Add(gate);
  gate.time -= kDay;
  gate.verdicts = {{.case_id = "op/old/rows=1/bf16", .verdict = "invalid", .reason = "noisy"}};
  Add(gate);
  const DashboardData data = Load();
  ASSERT_EQ(data.verdicts.size(), 4u);
  EXPECT_EQ(data.verdicts[0].verdict, Verdict::kSlower);
  EXPECT_EQ(data.verdicts[1].verdict, Verdict::kSlower);
  EXPECT_EQ(data.verdicts[2].verdict, Verdict::kSame);
  EXPECT_EQ(data.verdicts[3].case_id, "op/old/rows=1/bf16");
  EXPECT_EQ(data.verdicts[3].reason, "noisy");
  const DashboardVerdict& time =
      data.verdicts[0].metric.empty() ? data.verdicts[0] : data.verdicts[1];
  const DashboardVerdict& bytes =
      data.verdicts[0].metric.empty() ? data.verdicts[1] : data.verdicts[0];
  EXPECT_EQ(time.case_id, kCase);
  EXPECT_EQ(time.shift->high, 1.05);
  EXPECT_EQ(time.source, "gate, confirmed, advisory");
  EXPECT_EQ(time.driver, "580");
  EXPECT_EQ(time.commit, "bbbb");
  EXPECT_EQ(bytes.metric, "q_buf");
  EXPECT_EQ(bytes.new_count, 11u);
}

// Counts are judged against the least value since the last accept.
class LoadCountsTest : public LoadDashboardTest {
 protected:
  void AddCount(int night, std::int64_t value) {
    RunRecord run{.time = kNight + night * kDay, .commit = "c"};
    run.environment = {.architecture = "cpu"};
    run.program = "draftmark_memory";
    run.points = {
        {.case_id = "scratch/dflash_v2/x/nb=8", .counts = {{"launches", 3}, {"q_buf", value}}}};
    Add(run);
  }
  DashboardCount Field() {
    const DashboardData data = Load();
    EXPECT_EQ(data.counts.size(), 2u);
    for (const DashboardCount& count : data.counts) {
      if (count.field == "q_buf") return count;
      EXPECT_FALSE(count.is_bytes);
    }
    return {};
  }
};

TEST_F(LoadCountsTest, OneByteMoreIsGrowth) {
  AddCount(0, 4096);
  EXPECT_EQ(Field().recorded, 4096u);
  AddCount(1, 4097);
  EXPECT_EQ(Field().value, 4097u);
  EXPECT_EQ(Field().recorded, 4096u);
  AddCount(2, 4097);  // it stays grown until someone accepts it
  EXPECT_EQ(Field().recorded, 4096u);
  EXPECT_EQ(Field().architecture, "cpu");
  EXPECT_TRUE(Field().is_bytes);
}

TEST_F(LoadCountsTest, AnAcceptedValueIsTheNewRecord) {
  AddCount(0, 4096);
  AddCount(1, 5000);
  AcceptRecord accept{.time = kNight + kDay + 60};
  accept.case_id = "scratch/dflash_v2/x/nb=8";
  accept.field = "q_buf";
  accept.old_value = 4096;
  accept.new_value = 5000;
  accept.reason = "wider rows";
  Add(accept);
  EXPECT_EQ(Field().recorded, 5000u);
  AddCount(2, 4500);
  EXPECT_EQ(Field().recorded, 4500u);
  AddCount(3, 4501);  // what was better once
  EXPECT_EQ(Field().recorded, 4500u);
  EXPECT_EQ(Field().value, 4501u);
}

TEST_F(LoadDashboardTest, ConformanceWithWaiversFailuresAndWhatWasNeverRun) {
  RunRecord run{.time = kNight, .commit = "c"};
  run.environment = H200();
  run.program = "draftmark_verify";
  const auto result = [](const std::string& id, const std::string& status) {
    ConformanceResult made{.case_id = id, .precision = "bf16", .backend = "cuda", .status = status};
    made.used_share = 0.5;
    return made;
  };
  run.conformance = {result("op/a/rows=1/bf16", "PASS"), result("op/a/rows=2/bf16", "PASS"),
                     result("op/b/rows=1/bf16", "XFAIL"), result("op/c/rows=1/bf16", "FAIL")};
  run.conformance[1].used_share = 0.75;
  run.conformance[2].waiver = "rounded twice";
  run.conformance[2].expires = "2027-03-31";
  run.conformance[3].signature = "norm: bound";
  Add(run);
  const DashboardData data = Load({.operations = {"op/d"},
                                   .architectures = {"sm_90", "sm_120"},
                                   .known = {{{"op/a", "sm_90"}, "run: elsewhere"},
                                             {{"op/a", "sm_120"}, "compiled: sm_120a"}}});
  const auto cell = [&](const std::string& operation, const std::string& architecture) {
    for (const MatrixCell& one : data.conformance) {
      if (one.operation == operation && one.architecture == architecture) return one;
    }
    return MatrixCell{.operation = "none"};
  };
  ASSERT_EQ(data.conformance.size(), 8u);
  EXPECT_EQ(cell("op/a", "sm_90").state, CellState::kPassed);
  EXPECT_EQ(cell("op/a", "sm_90").cases, 2u);
  EXPECT_DOUBLE_EQ(*cell("op/a", "sm_90").used_share, 0.75);
  EXPECT_EQ(cell("op/b", "sm_90").state, CellState::kWaived);
  EXPECT_THAT(cell("op/b", "sm_90").detail, HasSubstr("rounded twice, until 2027-03-31"));
  EXPECT_EQ(cell("op/c", "sm_90").state, CellState::kFailed);
  EXPECT_THAT(cell("op/c", "sm_90").detail, HasSubstr("op/c/rows=1/bf16: FAIL norm: bound"));
  EXPECT_EQ(cell("op/d", "sm_90").state, CellState::kNeverRun);
  EXPECT_EQ(cell("op/a", "sm_120").state, CellState::kNeverRun);
  EXPECT_EQ(cell("op/a", "sm_120").detail, "compiled: sm_120a");
  EXPECT_EQ(cell("op/d", "sm_120").detail, "");
  EXPECT_EQ(cell("op/a", "sm_90").detail, "");  // the history knows better
}

TEST_F(LoadDashboardTest, AaAndReleases) {
  AaRecord aa{.time = kNight};
  aa.environment = H200();
  aa.commit = "c";
  aa.results = {
      {.case_id = "op/a/rows=1/bf16",
       .comparisons = 600,
       .false_alarms = 1,
       .spread = 0.003,
       .detectable = 0.016},
      {.case_id = "op/b/rows=1/bf16",
       .comparisons = 600,
       .false_alarms = 1,
       .spread = 0.01,
       .detectable = 0.04},
      {.case_id = "op/c/rows=1/bf16", .comparisons = 600, .spread = 0.02, .detectable = 0}};
  Add(aa);
  Add(ReleaseRecord{.time = kNight, .name = "v1.0", .commit = "c", .note = ""});
  DashboardData data = Load();
  ASSERT_EQ(data.releases.size(), 1u);
  EXPECT_EQ(data.releases[0].label, "v1.0");
  ASSERT_EQ(data.aa.size(), 1u);
  EXPECT_EQ(data.aa[0].comparisons, 1800u);
  EXPECT_EQ(data.aa[0].false_alarms, 2u);
  EXPECT_FALSE(data.aa[0].advisory);                           // 1.1 in 1,000
  EXPECT_EQ(data.aa[0].cases[0].case_id, "op/c/rows=1/bf16");  // can show nothing
  EXPECT_EQ(data.aa[0].cases[1].case_id, "op/b/rows=1/bf16");
  aa.time += kDay;
  aa.results[1].false_alarms = 9;
  Add(aa);
  data = Load();
  EXPECT_EQ(data.aa[0].comparisons, 3600u);
  EXPECT_TRUE(data.aa[0].advisory);  // 3.1 in 1,000
  // As the gate has it: 30 days, and the architecture as a whole.
  EXPECT_TRUE(Load({.now = kNight + 30 * kDay}).aa[0].advisory);
  data = Load({.now = kNight + 31 * kDay});
  EXPECT_EQ(data.aa[0].comparisons, 3600u);
  EXPECT_FALSE(data.aa[0].advisory);
  aa.environment.gpu = "NVIDIA GH200";
  aa.results.resize(1);
  Add(aa);
  data = Load({.now = kNight + kDay});
  ASSERT_EQ(data.aa.size(), 2u);
  EXPECT_TRUE(data.aa[1].advisory);
}

}  // namespace
}  // namespace draftmark
