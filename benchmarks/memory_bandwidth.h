// The most that a GPU's memory can move, and its tensor cores can multiply: a time that says more of
// the first is a wrong measurement.
#ifndef DRAFTMARK_BENCHMARKS_MEMORY_BANDWIDTH_H_
#define DRAFTMARK_BENCHMARKS_MEMORY_BANDWIDTH_H_

#include <optional>

namespace draftmark {

// Bytes per second of memory with two transfers a clock; absent if either is not known (0). An
// H200's 3201000 kHz and 6144 bits are 4.917e12.
constexpr std::optional<double> TheoreticalBytesPerSecond(int memory_clock_khz, int bus_bits) {
  if (memory_clock_khz <= 0 || bus_bits <= 0) return std::nullopt;
  return 2 * (memory_clock_khz * 1e3) * (bus_bits / 8.0);
}

// BF16 with FP32 sums, dense: operations per second of all tensor cores. Hopper's four per SM do 1024
// each in a clock (H100 SXM: 132 SMs at 1.83 GHz, 989e12). Absent for what is not known here.
constexpr std::optional<double> PeakBf16FlopsPerSecond(int major, int minor, int sms,
                                                       int clock_khz) {
  if (major != 9 || minor != 0 || sms <= 0 || clock_khz <= 0) return std::nullopt;
  return 4096.0 * sms * (clock_khz * 1e3);
}

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_MEMORY_BANDWIDTH_H_
