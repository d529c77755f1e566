// How fast a GPU's SMs ran between two readings of their own counters.
//
//   const std::optional<double> hertz = ClockHertz(before, behind);
//
// Cycles beside time tell a slower clock from slower code, and NVML's clock is a sample of its own
// time. Pure.
#ifndef DRAFTMARK_BENCHMARKS_REPLAY_CLOCK_READING_H_
#define DRAFTMARK_BENCHMARKS_REPLAY_CLOCK_READING_H_

#include <cstdint>
#include <optional>
#include <span>

namespace draftmark {

// Of one SM. All 0: it was not read.
struct alignas(16) ClockReading {
  std::uint64_t cycles = 0;       // clock64
  std::uint64_t nanoseconds = 0;  // globaltimer
};

// SMs that a reading has room for, by %smid.
inline constexpr std::size_t kMostSms = 1024;
// The timer may move in steps of a microsecond: below this a reading says too little.
inline constexpr std::uint64_t kLeastReadingNs = 100'000;

// Median over the SMs that are in both readings; absent if none is, or if they are too close.
std::optional<double> ClockHertz(std::span<const ClockReading> before,
                                 std::span<const ClockReading> behind);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPLAY_CLOCK_READING_H_
