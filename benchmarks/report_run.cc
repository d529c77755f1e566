#include "benchmarks/report_run.h"

#include <algorithm>
#include <string>

#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

constexpr double kMega = 1e6;
constexpr double kGiga = 1e9;

void Optional(benchmark::UserCounters& counters, const char* name,
              const std::optional<double>& value) {
  if (value) counters[name] = *value;
}

template <typename Integer>
std::optional<double> AsDouble(const std::optional<Integer>& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> InMega(const std::optional<double>& hertz) {
  return hertz ? std::optional<double>(*hertz / kMega) : std::nullopt;
}

void CountSamples(const SampledRun& run, benchmark::UserCounters& counters) {
  const auto count = [&](const char* name, std::size_t value) {
    counters[name] = static_cast<double>(value);
  };
  count(kSamplesCounter, run.counts.samples);
  count(kVoidedCounter, run.counts.voided);
  count(kVoidedByProcesses, run.counts.processes);
  count(kVoidedByThrottle, run.counts.throttle);
  count(kVoidedByClock, run.counts.clock);
  count(kVoidedByEcc, run.counts.ecc);
}

void CountGpu(const SampledRun& run, benchmark::UserCounters& counters) {
  Optional(counters, kSmClockCounter, InMega(run.clock_hz));
  Optional(counters, kMemoryClockCounter, InMega(run.after.memory_clock_hz));
  Optional(counters, kPowerCounter, run.after.power_watts);
  Optional(counters, kTemperatureCounter, run.after.temperature_celsius);
  Optional(counters, kThrottleCounter, AsDouble(run.throttle_reasons));
  Optional(counters, kEccCounter, AsDouble(run.after.ecc_errors));
  Optional(counters, kOtherProcesses, AsDouble(run.other_processes));
}

void CountCost(const SampledRun& run, const CallCost& cost, benchmark::UserCounters& counters) {
  counters[kBytesCounter] = cost.bytes;
  counters[kFlopsCounter] = cost.flops;
  counters[kGigabytesPerSecond] = cost.bytes / run.seconds / kGiga;
  counters[kGigaflopsPerSecond] = cost.flops / run.seconds / kGiga;
  counters[kFloorSecondsCounter] = cost.FloorSeconds();
  counters[kFloorShareCounter] = cost.FloorSeconds() / run.seconds;
  if (cost.copy_bytes_per_second > 0) {
    counters[kCopyShareCounter] = cost.bytes / run.seconds / cost.copy_bytes_per_second;
  }
}

}  // namespace

double CallCost::FloorSeconds() const {
  const double memory = copy_bytes_per_second > 0 ? bytes / copy_bytes_per_second : 0;
  const double arithmetic = peak_flops_per_second ? flops / *peak_flops_per_second : 0;
  return std::max(memory, arithmetic);
}

bool ReportRun(const StatusOr<SampledRun>& run, const CallCost& cost, benchmark::State& state) {
  if (!run.ok()) {
    state.SkipWithError(run.status().message().c_str());
    return false;
  }
  if (!run->invalid.empty()) {
    state.SkipWithError(("invalid: " + run->invalid).c_str());
    return true;
  }
  for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(run->seconds);
  benchmark::UserCounters& counters = state.counters;
  CountSamples(*run, counters);
  CountGpu(*run, counters);
  CountCost(*run, cost, counters);
  if (run->clock_hz) counters[kCyclesCounter] = run->seconds * *run->clock_hz;
  counters[kMedianSeconds] = run->median;
  counters[kLeastSeconds] = run->least;
  counters[kP90Seconds] = run->p90;
  counters[kVariationCounter] = run->variation;
  return true;
}

}  // namespace draftmark
