// Records for tests, one of each kind, with every field filled.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RECORD_TESTING_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RECORD_TESTING_H_

#include <string>
#include <vector>

#include "src/perf/history/record.h"

namespace draftmark {

inline constexpr std::int64_t kTestTime = 1796005457;  // 2026-11-30T02:24:17Z

inline Environment TestEnvironment() {
  return {.architecture = "sm_90",
          .gpu = "NVIDIA H200",
          .driver = "580.159.04",
          .cuda = "13.0",
          .clocks = "default"};
}

inline Point TestPoint(const std::string& case_id, double seconds) {
  return {.case_id = case_id,
          .seconds = seconds,
          .median = seconds,
          .samples = 30,
          .unit = "us",
          .reproduce = "operations_benchmark --benchmark_filter=" + case_id};
}

// A run of one case, told from others by its time and number.
inline RunRecord TestRun(double seconds = 1.5e-6, std::int64_t time = kTestTime,
                         std::int64_t number = 0,
                         const std::string& case_id = "op/rms_norm/rows=16,h=4096/bf16") {
  return {.time = time,
          .commit = "b8a6378e00000000000000000000000000000000",
          .environment = TestEnvironment(),
          .program = "operations_benchmark",
          .session = "nightly",
          .number = number,
          .points = {TestPoint(case_id, seconds)}};
}

inline RunRecord FullRun() {
  RunRecord run = TestRun();
  run.night = "2026-11-29";
  run.number = 3;
  run.valid = false;
  run.reason = "7 of 30 samples are void: clock moved";
  run.command = "draftmark-gpu/run bench";
  run.source = "benchmarks.operations_benchmark.json";
  run.source_sha256 = std::string(64, 'a');
  run.context = {{"cublaslt_version", "130102"}, {"copy_bytes_per_second", "4268739957992"}};
  Point full = TestPoint("draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1", 0.0010408);
  full.schema = 2;
  full.median = 0.00104;
  full.voided = 7;
  full.unit = "ms";
  full.marks = "clock moved,other process";
  full.bytes_per_second = 3.2e12;
  full.flops_per_second = 5e13;
  full.copy_share = 0.75;
  full.floor_share = 0.766;
  full.counts = {{"memory_weights", 4586572288}, {"launches", 9007199254740993}};
  full.numbers = {{"min_ms", 1.0313}, {"delta", -0.25}};
  run.points.push_back(full);
  run.points.push_back({.case_id = "op/broken/rows=1/bf16", .failure = "failed: no \"kernel\""});
  run.points.push_back(
      {.case_id = "scratch/dflash_v2/qwen3-8b/ctx_window=4096,nb=8", .counts = {{"total", 0}}});
  return run;
}

inline RunRecord ConformanceRun(std::int64_t time = kTestTime) {
  RunRecord run = TestRun();
  run.time = time;
  run.program = "draftmark_verify";
  run.points.clear();
  run.conformance = {{.case_id = "op/rms_norm/rows=16,h=4096/bf16",
                      .precision = "bf16",
                      .backend = "cuda",
                      .status = "PASS",
                      .used_share = 0.4375},
                     {.case_id = "op/rms_norm/rows=1,h=8/bf16",
                      .precision = "bf16",
                      .backend = "cuda",
                      .status = "PASS",
                      .used_share = 0.5},
                     {.case_id = "op/embed/rows=1/bf16",
                      .precision = "bf16",
                      .backend = "cuda",
                      .status = "FAIL",
                      .used_share = 0.0,
                      .signature = "y: bound",
                      .reproduce = "draftmark verify op/embed/rows=1/bf16"},
                     {.case_id = "draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1",
                      .precision = "bf16",
                      .backend = "cuda",
                      .variant = "scratch v1",
                      .status = "XFAIL",
                      .signature = "step0.layers.0.k_new: bound",
                      .waiver = "angles are rounded to BF16",
                      .expires = "2026-12-31"}};
  run.suites = {{.name = "draftmark_verify", .passed = 3, .failed = 1, .problem = "said \xC3\xA9"}};
  run.tests = {{.suite = "kernels.gpu_test.A", .test = "B", .status = "skipped", .message = "x"}};
  return run;
}

inline GateRecord TestGate(std::int64_t time = kTestTime, const std::string& verdict = "slower") {
  const std::string case_id = "op/rms_norm/rows=16,h=4096/bf16";
  GateRecord gate{.time = time,
                  .night = "2026-11-30",
                  .mode = "nightly",
                  .environment = TestEnvironment(),
                  .base_commit = "b8a6378",
                  .next_commit = "3b55028",
                  .verdict = verdict,
                  .exit_code = 1,
                  .advisory = true,
                  .command = "draftmark perf nightly"};
  gate.context = {{"sentinel", "0.9987"}};
  gate.base_runs = {"1111111111111111", "0000000000000000"};
  gate.next_runs = {"2222222222222222"};
  gate.verdicts = {{.case_id = case_id,
                    .verdict = verdict,
                    .reason = "3.0 % slower",
                    .ratio = 1.03,
                    .ci_low = 1.02,
                    .ci_high = 1.04,
                    .p = 1.1e-5,
                    .variation = 0.003,
                    .detectable = 0.016,
                    .floor = 0.015,
                    .base = 1e-6,
                    .next = 1.03e-6,
                    .base_runs = 10,
                    .next_runs = 10,
                    .confirmed = true,
                    .reproduce = "draftmark perf compare base new --case=" + case_id},
                   {.case_id = case_id,
                    .metric = "launches",
                    .verdict = "slower",
                    .old_count = 3,
                    .new_count = 4}};
  gate.change_points = {{.case_id = case_id,
                         .night = "2026-11-28",
                         .commit = "3b55028",
                         .before = 1e-6,
                         .after = 1.03e-6,
                         .confirmed = true}};
  return gate;
}

inline AaRecord TestAa(std::int64_t time = kTestTime) {
  AaRecord aa{.time = time,
              .environment = TestEnvironment(),
              .commit = "b8a6378",
              .advisory = true,
              .command = "draftmark perf aa",
              .context = {{"runs", "20"}}};
  aa.results = {{.case_id = "op/rms_norm/rows=16,h=4096/bf16",
                 .comparisons = 50,
                 .false_alarms = 1,
                 .unclear = 2,
                 .invalid = 3,
                 .spread = 0.002,
                 .detectable = 0.016}};
  return aa;
}

inline AcceptRecord TestAccept(std::int64_t time = kTestTime) {
  return {.time = time,
          .architecture = "sm_90",
          .case_id = "scratch/dflash_v2/qwen3-8b/ctx_window=4096,nb=8",
          .schema = 2,
          .field = "total",
          .old_value = 100,
          .new_value = 101,
          .reason = "room for the second norm",
          .commit = "b8a6378"};
}

inline ReleaseRecord TestRelease(std::int64_t time = kTestTime) {
  return {.time = time, .name = "v1.0", .commit = "b8a6378", .note = "first"};
}

inline NightRecord TestNight() {
  NightRecord night{.time = kTestTime,
                    .night = "2026-11-30",
                    .environment = TestEnvironment(),
                    .commit = "b8a6378",
                    .replaces = {"bbbbbbbbbbbbbbbb", "cccccccccccccccc"}};
  night.points = {{.case_id = "op/rms_norm/rows=16,h=4096/bf16",
                   .schema = 3,
                   .seconds = 1.5e-6,
                   .low = 1.4e-6,
                   .high = 1.6e-6,
                   .runs = 2,
                   .samples = 60,
                   .unit = "us",
                   .copy_share = 0.5,
                   .floor_share = 0.25,
                   .counts = {{"launches", 3}}}};
  return night;
}

// One of each kind.
inline std::vector<HistoryRecord> AllKindsOfRecords() {
  return {FullRun(),    ConformanceRun(), TestGate(), TestAa(),
          TestAccept(), TestRelease(),    TestNight()};
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RECORD_TESTING_H_
