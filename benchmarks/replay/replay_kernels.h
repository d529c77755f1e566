// What surrounds a timed replay on the GPU: filling memory, sweeping the cache, comparing results,
// reading the SMs' clocks.
//
// All enqueue on `stream` and return the launch's error. Memory is aligned to 16 bytes and sizes are
// multiples of 16.
#ifndef DRAFTMARK_BENCHMARKS_REPLAY_REPLAY_KERNELS_H_
#define DRAFTMARK_BENCHMARKS_REPLAY_REPLAY_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "benchmarks/replay/clock_reading.h"
#include "src/base/status.h"

namespace draftmark {

// `copies` times the `bytes` of source, one behind the other, to target.
Status LaunchReplicate(const void* source, void* target, std::uint64_t bytes, std::uint64_t copies,
                       cudaStream_t stream);

// Adds to *count how many of the 16-byte words of those copies are not those of `expected`.
Status LaunchCountDifferences(const void* expected, const void* target, std::uint64_t bytes,
                              std::uint64_t copies, unsigned long long* count, cudaStream_t stream);

// Reads all of it, so that what was in the L2 cache before has to leave, dirty lines too. Memory that
// is written over would leave dirty lines of its own.
Status LaunchSweep(const void* memory, std::uint64_t bytes, unsigned* sink, cudaStream_t stream);

// readings[smid] for the SMs that get a block of a grid of `sm_count`; kMostSms of them, zero before.
Status LaunchReadClocks(ClockReading* readings, int sm_count, cudaStream_t stream);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPLAY_REPLAY_KERNELS_H_
