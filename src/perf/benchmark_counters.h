// Names that benchmark programs and the gate share: counters of a Google Benchmark report, and what
// the gate tells the programs that it starts.
//
//   state.counters[kCyclesCounter] = cycles;           // a benchmark program
//   found.cycles.push_back(entry.Number(kCyclesCounter));   // google_benchmark.h
//
// All are optional: a report of any other program of Google Benchmark has none of them, and is
// judged by its times alone. Source of the rules: spec/statistics.md, "Shared GPUs".
#ifndef DRAFTMARK_SRC_PERF_BENCHMARK_COUNTERS_H_
#define DRAFTMARK_SRC_PERF_BENCHMARK_COUNTERS_H_

#include <string_view>

namespace draftmark {

// What real_time is in cycles of the SM clock: seconds x the clock measured meanwhile, in Hz.
inline constexpr char kCyclesCounter[] = "cycles";

// Samples that were taken for the entry, voided ones included; and how many of them are void, and
// so are not in real_time. Above kMostVoided the case is invalid.
inline constexpr char kSamplesCounter[] = "samples";
inline constexpr char kVoidedCounter[] = "voided";
inline constexpr double kMostVoided = 0.2;

// Why samples are void. One sample may count in several, so their sum may be above kVoidedCounter.
inline constexpr char kVoidedByProcesses[] = "voided_processes";  // another process was seen
inline constexpr char kVoidedByThrottle[] = "voided_throttle";    // a throttle reason was set
inline constexpr char kVoidedByClock[] = "voided_clock";          // the clock moved by over 2 %
inline constexpr char kVoidedByEcc[] = "voided_ecc";              // an ECC error came up

// Exact integers, compared with recorded ones and with those of another build, and never tested.
inline constexpr char kLaunchesCounter[] = "launches";  // kernel launches of one call or draft
inline constexpr char kAllocationsCounter[] = "allocations";   // device allocations, likewise
inline constexpr char kPeakBytesCounter[] = "peak_bytes";      // the ledger's most at any time
inline constexpr char kDeviceBytesCounter[] = "device_bytes";  // the device's high-water mark, by
// what it has free (benchmarks/device_high_water.h): of whole drafts, and only where a GPU is
inline constexpr char kMemoryCounters[] = "memory_";  // how names of bytes by purpose begin

// The memory's clock at the end of a run: its name begins so, too, but it counts nothing.
inline constexpr char kMemoryClockCounter[] = "memory_mhz";

constexpr bool IsExactCounter(std::string_view name) {
  if (name == kMemoryClockCounter) return false;
  return name == kLaunchesCounter || name == kAllocationsCounter || name == kPeakBytesCounter ||
         name == kDeviceBytesCounter || name.starts_with(kMemoryCounters);
}

// What the benchmark programs of this project add. Sizes and rates are those of one call.
inline constexpr char kBytesCounter[] = "bytes";  // that must cross the memory bus
inline constexpr char kFlopsCounter[] = "flops";
inline constexpr char kGigabytesPerSecond[] = "GB/s";  // bytes over the time
inline constexpr char kGigaflopsPerSecond[] = "GFLOP/s";
// GB/s over that of a copy from device memory to device memory in the same process.
inline constexpr char kCopyShareCounter[] = "copy_share";
// The least time that the call could take over the time: its bytes at the copy's bandwidth, or its
// operations at the GPU's peak if that takes longer and is known.
inline constexpr char kFloorShareCounter[] = "floor_share";
inline constexpr char kFloorSecondsCounter[] = "floor_seconds";
// 1: proved to be cold; 0: proved to be warm. Then bytes of other memory that are touched between
// two touches of an operand, and what it must be for cold: twice the L2 cache.
inline constexpr char kColdCounter[] = "cold";
inline constexpr char kReuseBytesCounter[] = "reuse_bytes";
inline constexpr char kTwiceL2Counter[] = "twice_l2_bytes";
// 1: the results were judged by their oracle before the samples; 0: timed ones had the bits of one
// that was not timed, no more.
inline constexpr char kJudgedCounter[] = "judged";
// Of the clean samples, in seconds, beside real_time, which is their value (run_value.h).
inline constexpr char kMedianSeconds[] = "median_seconds";
inline constexpr char kLeastSeconds[] = "min_seconds";
inline constexpr char kP90Seconds[] = "p90_seconds";
inline constexpr char kVariationCounter[] = "sample_cv";  // standard deviation over mean
// The GPU around the samples; absent: unknown. Clocks in MHz.
inline constexpr char kSmClockCounter[] = "sm_mhz";
inline constexpr char kPowerCounter[] = "power_watts";
inline constexpr char kTemperatureCounter[] = "temperature_c";
inline constexpr char kThrottleCounter[] = "throttle_reasons";  // NVML's bits, of all readings
inline constexpr char kEccCounter[] = "ecc_errors";             // since the driver was loaded
inline constexpr char kOtherProcesses[] = "other_processes";

// Of a report's context: FLOPs per second of a large BF16 product by cuBLASLt in the same process.
inline constexpr char kGemmContext[] = "gemm_flops_per_second";
// The clocks policy, by its name in gpu_state.h: a part of the history's key.
inline constexpr char kClocksContext[] = "clocks";
// Bytes per second of a copy on the device. Both are the sentinels that cancel a machine's drift.
inline constexpr char kCopyContext[] = "copy_bytes_per_second";

// In the environment of each program that the gate starts: a decimal number, another for each run.
// A program that knows it runs its benchmarks in the order that ShuffledOrder (run_order.h) gives
// and ignores --benchmark_enable_random_interleaving, whose order has no seed.
inline constexpr char kOrderSeedVariable[] = "DRAFTMARK_ORDER_SEED";

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_BENCHMARK_COUNTERS_H_
