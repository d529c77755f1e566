#include "src/perf/history/import_google_benchmark.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/perf/history/record_jsonl.h"
#include "src/perf/history/record_testing.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr char kContext[] = R"json({
    "date": "2026-11-30T03:24:17+01:00", "host_name": "secret-host",
    "executable": "/home/someone/bin/operations_benchmark", "num_cpus": 16, "mhz_per_cpu": 2000,
    "cpu_scaling_enabled": false, "caches": [{"type": "Data", "level": 1}], "load_avg": [0.5],
    "library_build_type": "release", "catalogue": "/home/someone/configs.json",
    "gpu": "NVIDIA H200 (sm_90, 132 SMs, L2 60 MiB, driver CUDA 13.1, runtime CUDA 13.0)",
    "driver": "580.159.04", "clocks": "locked 1980 MHz", "commit": "b8a6378", "session": "night 7",
    "run_number": "3", "cublaslt_version": "130102"})json";

std::string Entry(const std::string& name, const std::string& rest, int repetition = 0) {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "repetitions": 1,
           "repetition_index": {1}, "threads": 1, "iterations": 1, "cpu_time": 9, {2}}})",
      name, repetition, rest);
}

std::string Report(const std::string& entries, const std::string& context = kContext) {
  return "{\"context\": " + context + ", \"benchmarks\": [" + entries + "]}";
}

StatusOr<RunRecord> Import(const std::string& text, const ImportFacts& facts = {}) {
  return ImportGoogleBenchmark(text, "results/bench/ops.json", facts);
}

TEST(ImportGoogleBenchmarkTest, Context) {
  const std::string text =
      Report(Entry("op/a/rows=1/bf16", R"("real_time": 2, "time_unit": "us")"));
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run, Import(text));
  EXPECT_EQ(run.time, kTestTime);
  EXPECT_EQ(run.night, "2026-11-30");
  EXPECT_EQ(run.commit, "b8a6378");
  EXPECT_EQ(run.environment,
            (Environment{"sm_90", "NVIDIA H200", "580.159.04", "13.0", "locked 1980 MHz"}));
  EXPECT_EQ(run.program, "operations_benchmark");
  EXPECT_EQ(run.session, "night 7");
  EXPECT_EQ(run.number, 3);
  EXPECT_EQ(run.source, "ops.json");
  EXPECT_EQ(run.source_sha256, HashOf(text));
  // No host, no folder, nothing that changes from run to run.
  EXPECT_THAT(
      run.context,
      ElementsAre(Pair("clocks_policy", "locked 1980 MHz"), Pair("cpu_scaling_enabled", "false"),
                  Pair("cublaslt_version", "130102"), Pair("library_build_type", "release"),
                  Pair("mhz_per_cpu", "2000"), Pair("num_cpus", "16")));
  const std::string written = RecordToJsonl(run).value().text;
  EXPECT_THAT(written, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(written, testing::Not(HasSubstr("someone")));
  EXPECT_THAT(written, testing::Not(HasSubstr("results/")));
}

// Clocks that nobody locked are those of a report that says nothing: the trend goes on.
TEST(ImportGoogleBenchmarkTest, ClocksPolicy) {
  const auto clocks = [](const std::string& context) {
    const RunRecord run =
        Import(Report(Entry("a", R"("real_time": 2, "time_unit": "us")"), "{" + context + "}"),
               {.time = 5, .commit = "c"})
            .value();
    return run.environment.clocks + (run.context.empty() ? "" : ", " + run.context[0].second);
  };
  EXPECT_EQ(clocks(""), "default");
  EXPECT_EQ(clocks(R"("clocks": "unlocked")"), "default, unlocked");
  EXPECT_EQ(clocks(R"("clocks": "unknown")"), "default, unknown");
  EXPECT_EQ(clocks(R"("clocks": "locked")"), "locked, locked");
}

TEST(ImportGoogleBenchmarkTest, FactsGoFirst) {
  ImportFacts facts{
      .time = 86400, .night = "2026-01-01", .commit = "c", .session = "s", .number = 9};
  facts.environment = {"sm_80", "A100", "1", "12.8", "locked"};
  DM_ASSERT_OK_AND_ASSIGN(
      const RunRecord run,
      Import(Report(Entry("a", R"("real_time": 2, "time_unit": "us")")), facts));
  EXPECT_EQ(run.time, 86400);
  EXPECT_EQ(run.night, "2026-01-01");
  EXPECT_EQ(run.commit, "c");
  EXPECT_EQ(run.session, "s");
  EXPECT_EQ(run.number, 9);
  EXPECT_EQ(run.environment, facts.environment);
}

TEST(ImportGoogleBenchmarkTest, WithoutContext) {
  const std::string text = Report(Entry("a", R"("real_time": 2, "time_unit": "us")"), "{}");
  EXPECT_THAT(Import(text),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("results/bench/ops.json: does not say of which commit")));
  EXPECT_THAT(Import(text, {.commit = "c"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("add --time")));
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run, Import(text, {.time = 5, .commit = "c"}));
  EXPECT_EQ(run.environment, (Environment{"cpu", "", "", "", "default"}));
  EXPECT_EQ(run.program, "ops.json");
}

// Repetitions of one process are that run's samples.
TEST(ImportGoogleBenchmarkTest, RepetitionsAreSamples) {
  std::string entries;
  for (int i = 0; i < 10; ++i) {
    entries += Entry("draft/a/nb=1/manual_time",
                     fmt::format(R"("real_time": {}, "time_unit": "ms", "launches": {})",
                                 i == 9 ? 100 : 10 + i, i == 3 ? 13 : 12),
                     i) +
               ",";
  }
  entries += R"({"name": "draft/a/nb=1/manual_time_mean", "run_name": "draft/a/nb=1/manual_time",
      "run_type": "aggregate", "aggregate_name": "mean", "real_time": 7, "time_unit": "ms"})";
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run, Import(Report(entries)));
  ASSERT_EQ(run.points.size(), 1u);
  const Point& point = run.points[0];
  EXPECT_EQ(point.case_id, "draft/a/nb=1");
  EXPECT_EQ(point.samples, 10);
  EXPECT_DOUBLE_EQ(*point.seconds, 0.014);  // of 11 to 17: 10 and 18, 100 are dropped
  EXPECT_DOUBLE_EQ(*point.median, 0.0145);
  EXPECT_EQ(point.unit, "ms");
  EXPECT_THAT(point.counts, ElementsAre(Pair("launches", 13)));
  EXPECT_EQ(point.reproduce,
            "operations_benchmark --benchmark_filter='^draft/a/nb=1/manual_time$'");
}

// What is taken can be written and read again: no text stands for the parser's own.
TEST(ImportGoogleBenchmarkTest, ContextOfTokensThatAreNoNumbers) {
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run,
                          Import(Report(Entry("a", R"("real_time": 2, "time_unit": "us")"),
                                        R"({"x": -Infinity, "y": NaN, "z": 1.5, "commit": "b8a6378",
                        "date": "2026-11-30T02:25:00+00:00"})")));
  EXPECT_THAT(run.context, ElementsAre(Pair("x", "-Infinity"), Pair("y", "NaN"), Pair("z", "1.5")));
  DM_ASSERT_OK_AND_ASSIGN(const RecordText written, RecordToJsonl(run));
  DM_ASSERT_OK_AND_ASSIGN(const ParsedRecord read, ParseRecordJsonl(written.text, "r"));
  EXPECT_EQ(read.uid, written.uid);
}

TEST(ImportGoogleBenchmarkTest, SamplesThatTheProgramTook) {
  DM_ASSERT_OK_AND_ASSIGN(
      const RunRecord run,
      Import(Report(Entry(
          "op/a/rows=1/bf16/iterations:1/manual_time",
          R"("real_time": 20.0, "time_unit": "us", "samples": 40, "voided": 7, "voided_clock": 4,
             "voided_processes": 3, "voided_ecc": 0, "median_seconds": 1.9e-05, "GB/s": 3000.5,
             "GFLOP/s": 12, "copy_share": 0.75, "floor_share": 0.8, "launches": 2,
             "memory_weights": 4.5865722880000000e+09, "peak_bytes": 0, "sm_mhz": 1980.5,
             "label": "op/a/rows=1/bf16", "rate": NaN)"))));
  const Point& point = run.points[0];
  EXPECT_EQ(point.case_id, "op/a/rows=1/bf16");
  EXPECT_DOUBLE_EQ(*point.seconds, 2e-5);
  EXPECT_DOUBLE_EQ(*point.median, 1.9e-5);
  EXPECT_EQ(point.samples, 33);
  EXPECT_EQ(point.voided, 7);
  EXPECT_EQ(point.marks, "clock moved,other process");
  EXPECT_DOUBLE_EQ(*point.bytes_per_second, 3.0005e12);
  EXPECT_DOUBLE_EQ(*point.flops_per_second, 1.2e10);
  EXPECT_DOUBLE_EQ(*point.copy_share, 0.75);
  EXPECT_DOUBLE_EQ(*point.floor_share, 0.8);
  EXPECT_THAT(point.counts, ElementsAre(Pair("launches", 2), Pair("memory_weights", 4586572288),
                                        Pair("peak_bytes", 0)));
  EXPECT_THAT(point.numbers, ElementsAre(Pair("sm_mhz", 1980.5)));
}

TEST(ImportGoogleBenchmarkTest, OlderCounters) {
  DM_ASSERT_OK_AND_ASSIGN(
      const RunRecord run,
      Import(Report(Entry("a", R"("real_time": 1, "time_unit": "s", "bytes/s": 5e9, "flops/s": 7,
                                  "ratio_to_floor": 1.25)"))));
  EXPECT_DOUBLE_EQ(*run.points[0].bytes_per_second, 5e9);
  EXPECT_DOUBLE_EQ(*run.points[0].flops_per_second, 7);
  EXPECT_DOUBLE_EQ(*run.points[0].floor_share, 0.8);
}

TEST(ImportGoogleBenchmarkTest, AFailureHasNoNumber) {
  DM_ASSERT_OK_AND_ASSIGN(
      const RunRecord run,
      Import(Report(Entry("a", R"("error_occurred": true, "error_message": "no \"kernel\"",
                                  "real_time": 0, "time_unit": "us")"))));
  EXPECT_FALSE(run.points[0].seconds.has_value());
  EXPECT_EQ(run.points[0].failure, "failed: no \"kernel\"");
  EXPECT_EQ(run.points[0].unit, "");
  EXPECT_THAT(run.points[0].counts, IsEmpty());
}

TEST(ImportGoogleBenchmarkTest, HostileReports) {
  const std::string time = R"("real_time": 1, "time_unit": "us")";
  for (
      const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
          {"", "not valid JSON"},
          {Report("").substr(0, 40), "not valid JSON"},
          {Report(""), "no benchmark was run"},
          {Report(Entry("a", time + R"(, "launches": 2.5)")),
           "benchmarks[0].launches: expected a whole number"},
          {Report(Entry("a", time + R"(, "launches": -1)")), "launches: expected a whole number"},
          {Report(Entry("a", time + R"(, "memory_x": 1e17)")), "memory_x: expected a whole number"},
          {Report(Entry("a", time + R"(, "label": 7)")), "benchmarks[0].label: expected"},
          {Report(Entry("a", R"("real_time": -1, "time_unit": "us")")),
           "real_time: expected a time"},
          {Report(Entry("op/a/rows=1", time) + "," + Entry("op/a/rows=1/manual_time", time)),
           R"(benchmarks: "op/a/rows=1" and "op/a/rows=1/manual_time" are both the case "op/a/rows=1")"},
          {Report(Entry("a", time), R"({"run_number": "x", "date": "x"})"), "context.run_number"},
          {Report(Entry("a", time), R"({"gpu": 7})"), "context.gpu: expected"}}) {
    const auto run = Import(text, {.commit = "c"});
    ASSERT_FALSE(run.ok()) << text;
    EXPECT_THAT(run.status().message(), HasSubstr(message));
    EXPECT_THAT(run.status().message(), testing::StartsWith("results/bench/ops.json"));
  }
}

TEST(ImportGoogleBenchmarkTest, CaseIds) {
  EXPECT_EQ(CaseIdOfBenchmark("op/a/rows=1/bf16"), "op/a/rows=1/bf16");
  EXPECT_EQ(CaseIdOfBenchmark("op/a/iterations:1/repeats:3/manual_time"), "op/a");
  EXPECT_EQ(CaseIdOfBenchmark("op/a/min_time:0.500/process_time/real_time"), "op/a");
  EXPECT_EQ(CaseIdOfBenchmark("op/a/threads:4"), "op/a/threads:4");
  EXPECT_EQ(CaseIdOfBenchmark("BM_Parse/64/iterations:1", "a label"), "BM_Parse/64");
  EXPECT_EQ(CaseIdOfBenchmark("x/iterations:1", "draft/a/nb=1"), "draft/a/nb=1");
  EXPECT_EQ(CaseIdOfBenchmark("manual_time"), "manual_time");
}

TEST(ImportFactsTest, Devices) {
  EXPECT_EQ(EnvironmentOfDevice("NVIDIA L4"), (Environment{.gpu = "NVIDIA L4"}));
  EXPECT_EQ(EnvironmentOfDevice("X (y) (sm_120, 1 SMs, runtime CUDA 13.0)"),
            (Environment{.architecture = "sm_120", .gpu = "X (y)", .cuda = "13.0"}));
  EXPECT_EQ(ArchitectureOf("9.0"), "sm_90");
  EXPECT_EQ(ArchitectureOf("12.0"), "sm_120");
  EXPECT_EQ(ArchitectureOf("sm_90"), "sm_90");
  EXPECT_EQ(ArchitectureOf("unknown"), "");
  EXPECT_EQ(ArchitectureOf(""), "");
}

TEST(ImportFactsTest, CleanText) {
  EXPECT_EQ(CleanText("  a\tb\n"), "a b");
  EXPECT_EQ(CleanText("\xFF"), "\xEF\xBF\xBD");
  EXPECT_EQ(CleanText("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(CleanText(std::string(5000, 'x')).size(), 4000u);
  EXPECT_EQ(CleanText(std::string("a\0b", 3)), "a b");
  EXPECT_EQ(CleanText("   "), "");
}

}  // namespace
}  // namespace draftmark
