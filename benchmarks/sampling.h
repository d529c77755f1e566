// Takes the samples of one benchmark, looks at the GPU around them, and leaves out what is void.
//
//   DM_ASSIGN_OR_RETURN(const SampledRun run, TakeSamples(work, monitor, watch, {}));
//   run.invalid        // empty: run.seconds is a number; else why there is none
//   run.seconds        // of one call: RunValueOf the clean samples
//
// A run is valid or has no number: there is no result of nothing. Void samples are taken again,
// until enough are clean or more than a fifth are void (contamination.h). Errors are those of the
// work, and INTERNAL for a time in which the memory could not have brought the bytes. The GPU is
// behind TimedWork and GpuMonitor. One thread at a time.
#ifndef DRAFTMARK_BENCHMARKS_SAMPLING_H_
#define DRAFTMARK_BENCHMARKS_SAMPLING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/perf/contamination.h"
#include "src/perf/gpu_state.h"
#include "src/perf/run_value.h"

namespace draftmark {

struct TimedSample {
  double seconds = 0;  // on the GPU, of one call
  // SM clock from before to behind it, by counters on the GPU; absent: unknown.
  std::optional<double> clock_hz = std::nullopt;
};

class TimedWork {
 public:
  virtual ~TimedWork() = default;

  // Makes what a sample writes unusable (poison) and its cache state what the benchmark claims,
  // runs it, and compares what it wrote. An error if a sample did not do its work.
  virtual StatusOr<TimedSample> Run() = 0;
  // What no right sample can be below; 0: not known.
  virtual double LeastSeconds() const { return 0; }
};

// Of a work that is ready to be timed; of one call, but for `launches`.
struct TimedFacts {
  double bytes = 0;               // that must cross the memory bus
  double flops = 0;               // operations
  double least_seconds = 0;       // TimedWork::LeastSeconds
  std::uint64_t kernels = 0;      // launched
  std::uint64_t peak_bytes = 0;   // operands and workspace
  std::uint64_t reuse_bytes = 0;  // launch_plan.h
  std::uint64_t launches = 0;     // of a sample
  bool judged = false;            // by its oracle

  bool operator==(const TimedFacts&) const = default;
};

struct SamplingOptions {
  std::size_t samples = 30;  // clean ones wanted, at least 1
  std::size_t warm_ups = 5;
};

struct RawSample {
  double seconds = 0;
  SampleVoid voided = {};
};

// NVML is asked once in so many samples, since an answer may take longer than a sample; what it
// says counts for all of them.
inline constexpr std::size_t kSamplesPerReading = 5;

struct SampledRun {
  std::string invalid = {};  // a sentence's part; empty: the numbers below are there
  double seconds = 0;        // RunValue::value of the clean samples
  double median = 0;
  double least = 0;
  double p90 = 0;
  double variation = 0;  // standard deviation of the clean samples over their mean
  // Median of the clean samples' clocks, by the GPU's counters or else by NVML; absent: unknown.
  std::optional<double> clock_hz = std::nullopt;
  VoidCounts counts = {};
  GpuState before = {};
  GpuState after = {};
  std::optional<std::size_t> other_processes = std::nullopt;     // the most at either end
  std::optional<std::uint64_t> throttle_reasons = std::nullopt;  // of all readings together
  std::vector<RawSample> raw = {};                               // all, in their order
};

StatusOr<SampledRun> TakeSamples(TimedWork& work, GpuMonitor& monitor, const ProcessWatch& watch,
                                 const SamplingOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_SAMPLING_H_
