#include "benchmarks/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "benchmarks/quantile.h"
#include "src/base/check.h"
#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

// Samples in the order in which they were taken, with what is known of each.
struct Series {
  std::vector<double> seconds;
  std::vector<SampleFacts> facts;
};

double VariationOf(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean;
}

// Takes as many samples as are asked about with one reading of the monitor.
Status TakeGroup(TimedWork& work, GpuMonitor& monitor, std::size_t count, Series& series) {
  const std::size_t first = series.facts.size();
  for (std::size_t i = 0; i < count; ++i) {
    DM_ASSIGN_OR_RETURN(const TimedSample sample, work.Run());
    if (!(sample.seconds > 0)) {
      return InternalError(fmt::format("a sample took {} s", sample.seconds));
    }
    if (sample.seconds < work.LeastSeconds()) {
      return InternalError(
          fmt::format("a sample of {:.4g} us is below the {:.4g} us in which the memory's "
                      "theoretical bandwidth "
                      "brings its bytes",
                      sample.seconds * 1e6, work.LeastSeconds() * 1e6));
    }
    series.seconds.push_back(sample.seconds);
    series.facts.push_back({.clock_hz = sample.clock_hz, .throttle_reasons = std::nullopt});
  }
  const GpuState state = monitor.Quick();
  for (std::size_t i = first; i < series.facts.size(); ++i) {
    series.facts[i].throttle_reasons = state.throttle_reasons;
    if (!series.facts[i].clock_hz) series.facts[i].clock_hz = state.sm_clock_hz;
  }
  return OkStatus();
}

// Even if all samples still to come were clean, too many are void.
bool IsHopeless(const VoidCounts& counts, std::size_t wanted) {
  return VoidCounts{.samples = counts.voided + wanted, .voided = counts.voided}.TooMany();
}

void Summarize(const Series& series, const std::vector<SampleVoid>& voids, SampledRun& run) {
  std::vector<double> clean;
  std::vector<double> clocks;
  for (std::size_t i = 0; i < voids.size(); ++i) {
    const SampleFacts& facts = series.facts[i];
    if (facts.throttle_reasons) {
      run.throttle_reasons = run.throttle_reasons.value_or(0) | *facts.throttle_reasons;
    }
    run.raw.push_back({.seconds = series.seconds[i], .voided = voids[i]});
    if (voids[i].any()) continue;
    clean.push_back(series.seconds[i]);
    if (facts.clock_hz) clocks.push_back(*facts.clock_hz);
  }
  if (run.counts.TooMany()) {
    run.invalid = run.counts.ToString();
    if (run.counts.throttle > 0) {
      run.invalid += "; throttle reasons: " + ThrottleText(run.throttle_reasons.value_or(0));
    }
    return;
  }
  const RunValue value = RunValueOf(clean);
  run.seconds = value.value;
  run.median = value.median;
  run.variation = VariationOf(clean);
  std::sort(clean.begin(), clean.end());
  run.least = clean.front();
  run.p90 = Quantile(clean, 0.9);
  if (!clocks.empty()) run.clock_hz = Median(std::move(clocks));
}

}  // namespace

StatusOr<SampledRun> TakeSamples(TimedWork& work, GpuMonitor& monitor, const ProcessWatch& watch,
                                 const SamplingOptions& options) {
  DM_CHECK(options.samples > 0);
  for (std::size_t i = 0; i < options.warm_ups; ++i) {
    DM_RETURN_IF_ERROR(work.Run().status());
  }
  SampledRun run;
  // Behind the warm-ups: before them clocks are still on their way up.
  run.before = monitor.Full();
  Series series;
  std::size_t missing = options.samples;
  while (missing > 0) {
    DM_RETURN_IF_ERROR(TakeGroup(work, monitor, std::min(missing, kSamplesPerReading), series));
    const VoidCounts counts = CountVoid(FindVoid(series.facts, {}));
    if (IsHopeless(counts, options.samples)) break;
    const std::size_t clean = counts.samples - counts.voided;
    missing = options.samples - std::min(clean, options.samples);
  }
  run.after = monitor.Full();
  const BlockFacts block = CompareStates(run.before, run.after, watch);
  const std::vector<SampleVoid> voids = FindVoid(series.facts, block);
  run.counts = CountVoid(voids);
  run.other_processes = block.other_processes;
  Summarize(series, voids, run);
  return run;
}

}  // namespace draftmark
