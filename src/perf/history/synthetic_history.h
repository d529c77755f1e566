// A seeded history of any size, for benchmarks and tests: nightly runs of the same cases in one
// environment, with exact counts, conformance results and verdicts.
//
//   DM_RETURN_IF_ERROR(FillSyntheticHistory({.cases = 500, .nights = 400, .runs = 5}, history));
#ifndef DRAFTMARK_SRC_PERF_HISTORY_SYNTHETIC_HISTORY_H_
#define DRAFTMARK_SRC_PERF_HISTORY_SYNTHETIC_HISTORY_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "src/base/counter_hash.h"
#include "src/base/status.h"
#include "src/perf/history/history.h"
#include "src/perf/history/record.h"

namespace draftmark {

struct SyntheticSize {
  std::int64_t cases = 10;
  std::int64_t nights = 5;
  std::int64_t runs = 5;                  // a night
  std::int64_t first_night = 1756684800;  // 2025-09-01
};

inline std::string SyntheticCase(std::int64_t i) {
  return fmt::format("op/operation_{}/rows={},h=4096/bf16", i % 20, 1 + i / 20);
}

inline Environment SyntheticEnvironment() {
  return {"sm_90", "NVIDIA H200", "580.159.04", "13.0", "default"};
}

inline std::string SyntheticCommit(std::int64_t night) {
  return fmt::format("{:016x}{:016x}00000000", BitsAt(1, static_cast<std::uint64_t>(night)),
                     BitsAt(2, static_cast<std::uint64_t>(night)));
}

// Run `number` of a night: every case with a time within some percent of its level, and two counts.
inline RunRecord SyntheticRun(const SyntheticSize& size, std::int64_t night, std::int64_t number) {
  RunRecord run{.time = size.first_night + night * 86400 + number * 600,
                .commit = SyntheticCommit(night),
                .environment = SyntheticEnvironment(),
                .program = "operations_benchmark",
                .session = fmt::format("night {}", night),
                .number = number,
                .command = "draftmark-gpu/run bench"};
  const std::uint64_t seed = SeedOf("synthetic history");
  for (std::int64_t i = 0; i < size.cases; ++i) {
    const auto index = static_cast<std::uint64_t>((night * size.runs + number) * size.cases + i);
    const double seconds =
        1e-6 * static_cast<double>(1 + i) * (1 + 0.01 * (UniformAt(seed, index) - 0.5));
    run.points.push_back(
        {.case_id = SyntheticCase(i),
         .seconds = seconds,
         .median = seconds,
         .samples = 30,
         .unit = "us",
         .reproduce = "operations_benchmark --benchmark_filter=" + SyntheticCase(i),
         .bytes_per_second = 1e12,
         .flops_per_second = 1e13,
         .copy_share = 0.5,
         .floor_share = 0.6,
         .counts = {{"launches", 1 + i % 3}, {"peak_bytes", 4096 * (1 + i)}},
         .numbers = {{"p90_ms", seconds * 1.1e3}}});
  }
  return run;
}

inline RunRecord SyntheticConformance(const SyntheticSize& size, std::int64_t night) {
  RunRecord run{.time = size.first_night + night * 86400 + 7200,
                .commit = SyntheticCommit(night),
                .environment = SyntheticEnvironment(),
                .program = "draftmark_verify"};
  for (std::int64_t i = 0; i < size.cases; ++i) {
    run.conformance.push_back({.case_id = SyntheticCase(i),
                               .precision = "bf16",
                               .backend = "cuda",
                               .status = "PASS",
                               .used_share = 0.001 * static_cast<double>(i % 900)});
  }
  return run;
}

inline GateRecord SyntheticGate(const SyntheticSize& size, std::int64_t night) {
  GateRecord gate{.time = size.first_night + night * 86400 + 10800,
                  .night = "",
                  .mode = "nightly",
                  .environment = SyntheticEnvironment(),
                  .base_commit = SyntheticCommit(night - 1),
                  .next_commit = SyntheticCommit(night),
                  .verdict = "same"};
  for (std::int64_t i = 0; i < size.cases; ++i) {
    gate.verdicts.push_back({.case_id = SyntheticCase(i),
                             .verdict = "same",
                             .ratio = 1.001,
                             .ci_low = 0.998,
                             .ci_high = 1.004,
                             .p = 0.4,
                             .variation = 0.003,
                             .base_runs = 5,
                             .next_runs = 5,
                             .reproduce = "draftmark perf nightly --case=" + SyntheticCase(i)});
  }
  return gate;
}

// Night by night; stops at the first error.
inline Status FillSyntheticHistory(const SyntheticSize& size, History& history) {
  for (std::int64_t night = 0; night < size.nights; ++night) {
    for (std::int64_t number = 0; number < size.runs; ++number) {
      DM_RETURN_IF_ERROR(history.Add(SyntheticRun(size, night, number)).status());
    }
    DM_RETURN_IF_ERROR(history.Add(SyntheticConformance(size, night)).status());
    DM_RETURN_IF_ERROR(history.Add(SyntheticGate(size, night)).status());
  }
  return OkStatus();
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_SYNTHETIC_HISTORY_H_
