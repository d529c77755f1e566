#include <algorithm>

#include "benchmarks/replay/replay_kernels.h"
#include "src/cuda/cuda_status.h"

namespace draftmark {
namespace {

constexpr int kThreads = 256;
constexpr std::uint64_t kMostBlocks = 4096;

unsigned Blocks(std::uint64_t words) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((words + kThreads - 1) / kThreads, 1, kMostBlocks));
}

// Index of this thread's first word, and the distance to its next.
__device__ std::uint64_t FirstWord() {
  return static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::uint64_t WordStep() { return static_cast<std::uint64_t>(gridDim.x) * kThreads; }

__global__ void __launch_bounds__(kThreads)
    ReplicateKernel(const uint4* source, uint4* target, std::uint64_t words, std::uint64_t copies) {
  for (std::uint64_t i = FirstWord(); i < words * copies; i += WordStep()) {
    target[i] = source[i % words];
  }
}

__global__ void __launch_bounds__(kThreads)
    CountDifferencesKernel(const uint4* expected, const uint4* target, std::uint64_t words,
                           std::uint64_t copies, unsigned long long* count) {
  unsigned different = 0;
  for (std::uint64_t i = FirstWord(); i < words * copies; i += WordStep()) {
    const uint4 a = expected[i % words];
    const uint4 b = target[i];
    different += (a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w) ? 1u : 0u;
  }
  if (different > 0) atomicAdd(count, static_cast<unsigned long long>(different));
}

__global__ void __launch_bounds__(kThreads)
    SweepKernel(const uint4* memory, std::uint64_t words, unsigned* sink) {
  unsigned seen = 0;
  for (std::uint64_t i = FirstWord(); i < words; i += WordStep()) {
    const uint4 word = memory[i];
    seen |= word.x | word.y | word.z | word.w;
  }
  // The memory is zero; the compiler does not know that.
  if (seen != 0) *sink = seen;
}

__global__ void ReadClocksKernel(ClockReading* readings) {
  unsigned sm = 0;
  unsigned long long time = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  const auto cycles = static_cast<unsigned long long>(clock64());
  // One store: where an SM gets two blocks, one of their pairs stays whole.
  if (sm < kMostSms) reinterpret_cast<ulonglong2*>(readings)[sm] = make_ulonglong2(cycles, time);
}

}  // namespace

Status LaunchReplicate(const void* source, void* target, std::uint64_t bytes, std::uint64_t copies,
                       cudaStream_t stream) {
  const std::uint64_t words = bytes / sizeof(uint4);
  if (words * copies == 0) return OkStatus();
  ReplicateKernel<<<Blocks(words * copies), kThreads, 0, stream>>>(
      static_cast<const uint4*>(source), static_cast<uint4*>(target), words, copies);
  return CudaStatus(cudaGetLastError(), "replicate");
}

Status LaunchCountDifferences(const void* expected, const void* target, std::uint64_t bytes,
                              std::uint64_t copies, unsigned long long* count,
                              cudaStream_t stream) {
  const std::uint64_t words = bytes / sizeof(uint4);
  if (words * copies == 0) return OkStatus();
  CountDifferencesKernel<<<Blocks(words * copies), kThreads, 0, stream>>>(
      static_cast<const uint4*>(expected), static_cast<const uint4*>(target), words, copies, count);
  return CudaStatus(cudaGetLastError(), "count differences");
}

Status LaunchSweep(const void* memory, std::uint64_t bytes, unsigned* sink, cudaStream_t stream) {
  const std::uint64_t words = bytes / sizeof(uint4);
  if (words == 0) return OkStatus();
  SweepKernel<<<Blocks(words), kThreads, 0, stream>>>(static_cast<const uint4*>(memory), words,
                                                      sink);
  return CudaStatus(cudaGetLastError(), "sweep");
}

Status LaunchReadClocks(ClockReading* readings, int sm_count, cudaStream_t stream) {
  ReadClocksKernel<<<static_cast<unsigned>(sm_count), 1, 0, stream>>>(readings);
  return CudaStatus(cudaGetLastError(), "read clocks");
}

}  // namespace draftmark
