#include "benchmarks/benchmark_context.h"

#include <benchmark/benchmark.h>

#include <string>

#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

// What the monitor can tell: without clocks there is no void sample, and that should be seen.
std::string NvmlText(const GpuState& state) {
  std::string text;
  const auto add = [&](bool known, const char* name) {
    if (known) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(state.sm_clock_hz.has_value(), "clocks");
  add(state.throttle_reasons.has_value(), "throttle reasons");
  add(state.power_watts.has_value(), "power");
  add(state.temperature_celsius.has_value(), "temperature");
  add(state.ecc_errors.has_value(), "ECC");
  add(state.processes.has_value(), "processes");
  return text.empty() ? "unknown" : text;
}

}  // namespace

void AddBenchmarkContext(const WatchedGpu& watched) {
  const BenchmarkGpu& gpu = *watched.gpu;
  benchmark::AddCustomContext("gpu", gpu.info().Describe());
  benchmark::AddCustomContext("driver", gpu.driver_release());
  benchmark::AddCustomContext("cublaslt_version", std::to_string(gpu.cublaslt_version()));
  benchmark::AddCustomContext(kCopyContext, std::to_string(gpu.copy_bytes_per_second()));
  const GpuState state = watched.monitor->Full();  // the copies have just woken the clocks
  benchmark::AddCustomContext("nvml", NvmlText(state));
  benchmark::AddCustomContext(kClocksContext, std::string(ClocksPolicyName(state.clocks)));
}

}  // namespace draftmark
