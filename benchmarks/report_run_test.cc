#include "benchmarks/report_run.h"

#include <sstream>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/google_benchmark.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

SampledRun Clean() {
  SampledRun run;
  run.seconds = 25e-6;
  run.median = 24e-6;
  run.least = 20e-6;
  run.p90 = 30e-6;
  run.variation = 0.01;
  run.clock_hz = 1.98e9;
  run.counts = {.samples = 35, .voided = 5, .throttle = 4, .clock = 2};
  run.after = {
      .memory_clock_hz = 3.201e9, .power_watts = 512.5, .temperature_celsius = 41, .ecc_errors = 7};
  run.other_processes = 0;
  run.throttle_reasons = 0x8;
  return run;
}

// 40 MB at 3.2 TB/s are 12.5 us; 5 GFLOP at 1e15 are 5 us.
constexpr CallCost kCost = {
    .bytes = 40e6, .flops = 5e9, .copy_bytes_per_second = 3.2e12, .peak_flops_per_second = 1e15};

class ReportRunTest : public ::testing::Test {
 protected:
  // The report of one benchmark, as Google Benchmark writes it.
  std::string Report(const StatusOr<SampledRun>& run, const CallCost& cost = kCost) {
    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark(
        "case", [&](benchmark::State& state) { reported_ = ReportRun(run, cost, state); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
    std::ostringstream out;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&out);
    reporter.SetErrorStream(&out);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    return out.str();
  }
  static Json Entry(const std::string& report) {
    return ParseJson(report, "report").value()["benchmarks"][0];
  }

  bool reported_ = false;
};

TEST_F(ReportRunTest, AnEntryIsARunInMicroseconds) {
  const std::string report = Report(Clean());
  EXPECT_TRUE(reported_);
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport parsed, ParseGoogleBenchmark(report, "report"));
  ASSERT_EQ(parsed.cases.size(), 1u);
  EXPECT_EQ(parsed.cases[0].name, "case/iterations:1/manual_time");
  EXPECT_EQ(parsed.cases[0].failure, "");
  ASSERT_EQ(parsed.cases[0].seconds.size(), 1u);
  EXPECT_NEAR(parsed.cases[0].seconds[0], 25e-6, 1e-12);
}

TEST_F(ReportRunTest, CountersAreThereByTheirNames) {
  const Json entry = Entry(Report(Clean()));
  const auto expect = [&](const char* name, double value) {
    ASSERT_TRUE(entry.contains(name)) << name;
    EXPECT_NEAR(entry[name].get<double>(), value, 1e-6 * value) << name;
  };
  expect(kCyclesCounter, 25e-6 * 1.98e9);
  expect(kSamplesCounter, 35);
  expect(kVoidedCounter, 5);
  expect(kVoidedByProcesses, 0);
  expect(kVoidedByThrottle, 4);
  expect(kVoidedByClock, 2);
  expect(kVoidedByEcc, 0);
  expect(kBytesCounter, 40e6);
  expect(kFlopsCounter, 5e9);
  expect(kGigabytesPerSecond, 1600);
  expect(kGigaflopsPerSecond, 200e3);
  expect(kCopyShareCounter, 0.5);
  expect(kFloorSecondsCounter, 12.5e-6);
  expect(kFloorShareCounter, 0.5);
  expect(kMedianSeconds, 24e-6);
  expect(kLeastSeconds, 20e-6);
  expect(kP90Seconds, 30e-6);
  expect(kVariationCounter, 0.01);
  expect(kSmClockCounter, 1980);
  expect(kMemoryClockCounter, 3201);
  expect(kPowerCounter, 512.5);
  expect(kTemperatureCounter, 41);
  expect(kThrottleCounter, 8);
  expect(kEccCounter, 7);
  expect(kOtherProcesses, 0);
}

TEST_F(ReportRunTest, WhatIsUnknownIsNotThere) {
  SampledRun run = Clean();
  run.clock_hz.reset();
  run.after = {};
  run.other_processes.reset();
  run.throttle_reasons.reset();
  const Json entry = Entry(Report(run, {.bytes = 1, .flops = 1}));
  for (const char* const name :
       {kCyclesCounter, kSmClockCounter, kMemoryClockCounter, kPowerCounter, kTemperatureCounter,
        kThrottleCounter, kEccCounter, kOtherProcesses, kCopyShareCounter}) {
    EXPECT_FALSE(entry.contains(name)) << name;
  }
  EXPECT_TRUE(entry.contains(kSamplesCounter));
}

TEST_F(ReportRunTest, TheFloorIsTheLongerOfBytesAndOperations) {
  CallCost cost = kCost;
  cost.flops = 20e9;
  EXPECT_DOUBLE_EQ(cost.FloorSeconds(), 20e-6);
  cost.peak_flops_per_second.reset();
  EXPECT_DOUBLE_EQ(cost.FloorSeconds(), 12.5e-6);
}

TEST_F(ReportRunTest, AnInvalidRunHasNoNumberAndIsNoFailureOfTheProgram) {
  SampledRun run = Clean();
  run.invalid = "9 of 30 samples are void (throttle 9)";
  const std::string report = Report(run);
  EXPECT_TRUE(reported_);
  EXPECT_EQ(Entry(report)["error_message"], "invalid: 9 of 30 samples are void (throttle 9)");
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport parsed, ParseGoogleBenchmark(report, "report"));
  EXPECT_TRUE(parsed.cases[0].seconds.empty());
  EXPECT_THAT(parsed.cases[0].failure, HasSubstr("invalid: 9 of 30"));
}

TEST_F(ReportRunTest, AnErrorIsReportedAndAFailure) {
  const std::string report = Report(InternalError("wrong bits"));
  EXPECT_FALSE(reported_);
  EXPECT_EQ(Entry(report)["error_message"], "wrong bits");
}

}  // namespace
}  // namespace draftmark
