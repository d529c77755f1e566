// GpuMonitor: what a GPU says of itself around a measurement, behind an interface, so that the
// rules over it (contamination.h) are tested with invented states.
//
//   const GpuState before = monitor.Full();
//   ... samples, monitor.Quick() between them ...
//   const GpuState after = monitor.Full();
//
// What is absent is unknown: no driver library, a card or a virtual machine that does not tell.
// Unknown is never an error, and never taken for good or bad. One thread at a time.
#ifndef DRAFTMARK_SRC_PERF_GPU_STATE_H_
#define DRAFTMARK_SRC_PERF_GPU_STATE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace draftmark {

// Who decides how fast the clocks run. Locked: someone asked for others than the driver's own
// (application clocks, or locked ones that hold the GPU below what it could do).
enum class ClocksPolicy { kUnknown, kUnlocked, kLocked };
// "unknown", "unlocked", "locked": what a report's context says as kClocksContext.
constexpr std::string_view ClocksPolicyName(ClocksPolicy policy) {
  return policy == ClocksPolicy::kLocked     ? "locked"
         : policy == ClocksPolicy::kUnlocked ? "unlocked"
                                             : "unknown";
}

struct GpuState {
  std::optional<double> sm_clock_hz = std::nullopt;
  std::optional<double> memory_clock_hz = std::nullopt;
  std::optional<std::uint64_t> throttle_reasons = std::nullopt;  // NVML's bits, contamination.h
  std::optional<double> power_watts = std::nullopt;
  std::optional<double> temperature_celsius = std::nullopt;
  // Corrected and uncorrected since the driver was loaded: only its growth says something.
  std::optional<std::uint64_t> ecc_errors = std::nullopt;
  // Ids of the processes that compute on the GPU, this one among them or not (contamination.h).
  std::optional<std::vector<std::uint64_t>> processes = std::nullopt;
  ClocksPolicy clocks = ClocksPolicy::kUnknown;  // by Full() alone
};

class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;

  // Clocks and throttle reasons alone: some ten microseconds, for use between samples.
  virtual GpuState Quick() = 0;
  // Everything: milliseconds.
  virtual GpuState Full() = 0;
};

// Knows nothing: where there is no library to ask.
class UnknownGpuMonitor final : public GpuMonitor {
 public:
  GpuState Quick() override { return {}; }
  GpuState Full() override { return {}; }
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_GPU_STATE_H_
