// Which samples of a measurement are void, because the GPU was not the benchmark's alone or did not
// run as it should: spec/statistics.md, "Shared GPUs".
//
//   const std::vector<SampleVoid> voids = FindVoid(samples, block);
//   const VoidCounts counts = CountVoid(voids);
//   if (counts.TooMany()) ...   // the run is invalid; no number is reported
//
// A sample is void if another process was seen on the GPU, a throttle reason was set, a clock moved
// by more than 2 %, or an ECC error came up. Processes, ECC and the memory clock are read around a
// block of samples and void all of it. What is unknown voids nothing. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_CONTAMINATION_H_
#define DRAFTMARK_SRC_PERF_CONTAMINATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/perf/gpu_state.h"

namespace draftmark {

// NVML's clock event reasons (nvmlClocksEventReason*). Of these two a benchmark is not slower than
// it was to be: nothing runs at the moment, or the clocks were set so by whoever owns the machine.
inline constexpr std::uint64_t kReasonGpuIdle = 0x1;
inline constexpr std::uint64_t kReasonApplicationClocks = 0x2;
inline constexpr std::uint64_t kHarmlessReasons = kReasonGpuIdle | kReasonApplicationClocks;

// "software power cap, hardware slowdown"; unknown bits as numbers; "none".
std::string ThrottleText(std::uint64_t reasons);

// By how much a clock may move, as a share.
inline constexpr double kMostClockShift = 0.02;

struct SampleFacts {
  std::optional<double> clock_hz = std::nullopt;                 // SM clock while it ran
  std::optional<std::uint64_t> throttle_reasons = std::nullopt;  // of the reading next to it
};

struct SampleVoid {
  bool processes = false;
  bool throttle = false;
  bool clock = false;
  bool ecc = false;

  bool any() const { return processes || throttle || clock || ecc; }
  bool operator==(const SampleVoid&) const = default;
};

// Tells our own process from others. In a container the driver may know this process by another
// number, or not list it at all: then it is the one that appeared when our context was created.
class ProcessWatch {
 public:
  // `before`: the list before this process used the GPU; `after`: the list with its context.
  ProcessWatch(const GpuState& before, const GpuState& after, std::uint64_t own_id);
  ProcessWatch() = default;  // knows nobody: every process counts as another

  // One more that is ours, told likewise: a process that this one has started.
  void Add(const GpuState& before, const GpuState& after, std::uint64_t id);

  // Processes of a list that are not ours; absent if the list is.
  std::optional<std::size_t> Others(const GpuState& state) const;

 private:
  std::vector<std::uint64_t> own_;
};

// What was seen around a block of samples.
struct BlockFacts {
  std::optional<std::size_t> other_processes = std::nullopt;  // the most at either end
  bool memory_clock_moved = false;
  bool ecc_grew = false;
};
BlockFacts CompareStates(const GpuState& before, const GpuState& after, const ProcessWatch& watch);

// One for each sample. The clock's reference is the median of the samples' own clocks.
std::vector<SampleVoid> FindVoid(std::span<const SampleFacts> samples, const BlockFacts& block);

struct VoidCounts {
  std::size_t samples = 0;
  std::size_t voided = 0;
  // By reason; a sample may count in several.
  std::size_t processes = 0;
  std::size_t throttle = 0;
  std::size_t clock = 0;
  std::size_t ecc = 0;

  // More than kMostVoided of all, or nothing is left (also of none).
  bool TooMany() const;
  // "9 of 30 samples are void (throttle 7, clock 3)".
  std::string ToString() const;
};
VoidCounts CountVoid(std::span<const SampleVoid> voids);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_CONTAMINATION_H_
