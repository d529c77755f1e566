// The most that a GPU's memory can move: a time that says more is a wrong measurement.
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

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_MEMORY_BANDWIDTH_H_
