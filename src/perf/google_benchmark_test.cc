#include "src/perf/google_benchmark.h"

#include <string>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Report(const std::string& entries) {
  return R"({"context": {"num_cpus": 2}, "benchmarks": [)" + entries + "]}";
}

TEST(GoogleBenchmarkTest, RepetitionsAggregatesAndUnits) {
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport report, ParseGoogleBenchmark(Report(R"(
  {"name": "b/4", "run_name": "b/4", "run_type": "iteration", "repetitions": 2,
   "repetition_index": 0, "real_time": 2e3, "cpu_time": 9, "time_unit": "us", "rate": NaN},
  {"name": "b/4", "run_name": "b/4", "run_type": "iteration", "repetitions": 2,
   "repetition_index": 1, "real_time": 3000, "cpu_time": 9, "time_unit": "us"},
  {"name": "b/4_mean", "run_name": "b/4", "run_type": "aggregate", "aggregate_name": "mean",
   "real_time": 2.5e3, "time_unit": "us"},
  {"name": "a", "real_time": 5, "time_unit": "ns"})"),
                                                                             "r.json"));
  ASSERT_EQ(report.cases.size(), 2u);
  EXPECT_EQ(report.cases[0].name, "b/4");
  EXPECT_THAT(report.cases[0].seconds, ElementsAre(2e-3, 3e-3));
  EXPECT_EQ(report.cases[0].unit, "us");
  EXPECT_EQ(report.cases[0].unit_field, "r.json: benchmarks[0].time_unit");
  EXPECT_EQ(report.cases[1].name, "a");
  EXPECT_THAT(report.cases[1].seconds, ElementsAre(5e-9));
}

TEST(GoogleBenchmarkTest, FailuresHaveNoNumber) {
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport report, ParseGoogleBenchmark(Report(R"(
  {"name": "a", "error_occurred": true, "error_message": "no\nGPU", "real_time": 0,
   "time_unit": "ns"},
  {"name": "b", "skipped": true, "skip_message": ""})"),
                                                                             "r.json"));
  EXPECT_EQ(report.cases[0].failure, "failed in r.json: no GPU");
  EXPECT_THAT(report.cases[0].seconds, ElementsAre());
  EXPECT_EQ(report.cases[1].failure, "skipped in r.json");
}

TEST(GoogleBenchmarkTest, Counters) {
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport report, ParseGoogleBenchmark(R"json({
  "context": {"gpu": "H200 (sm_90)", "num_cpus": 2},
  "benchmarks": [
  {"name": "a", "real_time": 2, "time_unit": "us", "cycles": 3000, "samples": 50, "voided": 4,
   "voided_clock": 3, "voided_ecc": 1},
  {"name": "a", "repetition_index": 1, "real_time": 3, "time_unit": "us", "cycles": 4500,
   "samples": 50, "voided": 2, "voided_clock": 2},
  {"name": "b", "real_time": 3, "time_unit": "us"}]
})json",
                                                                             "r.json"));
  EXPECT_EQ(report.context.at("gpu"), "H200 (sm_90)");
  EXPECT_FALSE(report.context.contains("num_cpus"));
  EXPECT_THAT(report.cases[0].cycles, ElementsAre(3000, 4500));
  EXPECT_EQ(report.cases[0].samples, 100);
  EXPECT_EQ(report.cases[0].voided, 6);
  EXPECT_EQ(report.cases[0].void_reasons,
            (std::map<std::string, double>{{"voided_clock", 5}, {"voided_ecc", 1}}));
  EXPECT_THAT(report.cases[1].cycles, ElementsAre());
  EXPECT_EQ(report.cases[1].samples, 0);
}

TEST(GoogleBenchmarkTest, ExactCountersAreTheLargestOfRepetitions) {
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport report, ParseGoogleBenchmark(Report(R"(
  {"name": "a", "real_time": 2, "time_unit": "us", "launches": 2.4e+01, "memory_cache": 7,
   "peak_bytes": 9.0071992547409920e+15, "bytes": 1.5, "device_taken_bytes": 3},
  {"name": "a", "repetition_index": 1, "real_time": 3, "time_unit": "us", "launches": 25},
  {"name": "a", "repetition_index": 2, "real_time": 3, "time_unit": "us", "launches": 23},
  {"name": "a_mean", "run_name": "a", "aggregate_name": "mean", "launches": 99.5},
  {"name": "b", "error_occurred": true, "error_message": "x", "launches": 4})"),
                                                                             "r.json"));
  EXPECT_EQ(report.cases[0].counts,
            (std::map<std::string, std::uint64_t>{
                {"launches", 25}, {"memory_cache", 7}, {"peak_bytes", std::uint64_t{1} << 53}}));
  EXPECT_TRUE(report.cases[1].counts.empty());
}

struct Hostile {
  std::string entries;
  std::string message;  // behind "r.json: "
};

TEST(GoogleBenchmarkTest, OneErrorNamesFileAndField) {
  const std::string good = R"({"name": "a", "real_time": 1, "time_unit": "ns"})";
  for (const Hostile& hostile : std::initializer_list<Hostile>{
           {"", "benchmarks: no benchmark was run"},
           {R"({"name": "a_mean", "aggregate_name": "mean"})", "benchmarks: aggregates only"},
           {R"({"real_time": 1, "time_unit": "ns"})", "benchmarks[0].name: required"},
           {R"({"name": 4, "real_time": 1, "time_unit": "ns"})", "benchmarks[0].name: expected"},
           {R"({"name": "", "real_time": 1, "time_unit": "ns"})", "benchmarks[0].name: expected"},
           {R"({"name": "a\nSAME", "real_time": 1, "time_unit": "ns"})",
            "benchmarks[0].name: expected a name without control characters"},
           {good + R"(, {"name": "b", "time_unit": "ns"})", "benchmarks[1].real_time: required"},
           {R"({"name": "a", "real_time": 1})", "benchmarks[0].time_unit: required"},
           {R"({"name": "a", "real_time": 1, "time_unit": "h"})",
            "benchmarks[0].time_unit: expected ns, us, ms or s, found \"h\""},
           {R"({"name": "a", "real_time": NaN, "time_unit": "ns"})",
            "benchmarks[0].real_time: expected a"},
           {R"({"name": "a", "real_time": Infinity, "time_unit": "ns"})", "found Infinity"},
           {R"({"name": "a", "real_time": -1, "time_unit": "ns"})",
            "benchmarks[0].real_time: expected a time from 1e-15 to 1e+09 s, found -1"},
           {R"({"name": "a", "real_time": 0, "time_unit": "ns"})", "found 0"},
           {R"({"name": "a", "real_time": 1e300, "time_unit": "ns"})", "found 1e+300"},
           {R"({"name": "a", "real_time": "1", "time_unit": "ns"})", "found \"1\""},
           {R"({"name": "a", "run_type": "x"})", "benchmarks[0].run_type: expected"},
           {R"({"name": "a", "error_occurred": 1})", "benchmarks[0].error_occurred: expected"},
           {good + "," + good, "benchmarks[1].name: \"a\" is there twice as repetition 0"},
           {good + R"(, {"name": "a", "repetition_index": 1, "real_time": 1, "time_unit": "us"})",
            "benchmarks[1].time_unit: expected ns as in the case's other repetitions"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "cycles": 0})",
            "benchmarks[0].cycles: expected a number of cycles above 0"},
           {good + R"(, {"name": "a", "repetition_index": 1, "real_time": 1, "time_unit": "ns",
                         "cycles": 1})",
            "benchmarks[1].cycles: expected cycles in all"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "cycles": 1},
               {"name": "a", "repetition_index": 1, "real_time": 1, "time_unit": "ns"})",
            "benchmarks[1].cycles: expected cycles in all"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "samples": 3, "voided": 4})",
            "benchmarks[0].voided: expected 0 to 3 samples, found 4"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "samples": -1})",
            "benchmarks[0].samples: expected a number of samples, found -1"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "launches": 2.5})",
            "benchmarks[0].launches: expected a whole number from 0 to 2^53, found 2.5"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "allocations": -1})",
            "benchmarks[0].allocations: expected a whole number from 0 to 2^53, found -1"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "peak_bytes": 9007199254740994})",
            "benchmarks[0].peak_bytes: expected a whole number"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "device_bytes": NaN})",
            "benchmarks[0].device_bytes: expected a"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "memory_x": "7"})",
            "benchmarks[0].memory_x: expected a"},
           {R"({"name": "a", "real_time": 1, "time_unit": "ns", "memory_\u001b[2J": 7})",
            "a counter's name has control characters"},
           {"7", "benchmarks"},
           {good + ",", "not valid JSON"},
       }) {
    const auto report = ParseGoogleBenchmark(Report(hostile.entries), "r.json");
    EXPECT_FALSE(report.ok()) << hostile.entries;
    EXPECT_THAT(report.status().message(), HasSubstr(hostile.message)) << hostile.entries;
    EXPECT_THAT(report.status().message(), testing::StartsWith("r.json: "));
  }
}

TEST(GoogleBenchmarkTest, EveryTruncationIsAnError) {
  const std::string text = Report(R"({"name": "a", "real_time": 1, "time_unit": "ns"})");
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseGoogleBenchmark(text.substr(0, size), "r.json").ok()) << size;
  }
  EXPECT_THAT(ParseGoogleBenchmark(text, "r.json"), IsOk());
  EXPECT_THAT(ParseGoogleBenchmark("[]", "r.json"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("r.json")));
  EXPECT_THAT(ParseGoogleBenchmark("{}", "r.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("r.json: benchmarks: required")));
}

}  // namespace
}  // namespace draftmark
