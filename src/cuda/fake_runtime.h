// A CUDA runtime without a device: a program that links it holds this one instead of NVIDIA's, so that the host code
// around kernels runs, and fails as told, where there is no GPU.
//
//   FailFakeCall(7);                        // the 7th call from now on answers cudaErrorMemoryAllocation
//   const Status status = Work();
//   const bool failed = StopFailingFakeCalls();   // false: Work made fewer
//   EXPECT_EQ(FakeObjectsAlive(), before);
//
// Device memory is host memory, filled with zeros as it is allocated; copies and fills happen at once, and kernels not
// at all. It says that it is one device of the architecture sm_90, on which everything fits. Captures hold what is
// enqueued meanwhile, of which only the number of kernels is known; memory, events and waits are refused in them, as
// CUDA does: memory to all threads or, in thread-local mode, to the one that captures. As CUDA's, an error stays until
// cudaGetLastError. What is wrong (a block that is freed twice, a copy beyond an allocation) ends the process.
//
// Counted calls: all that may fail for want of something, which are those that create and enqueue; not those that
// destroy, free or ask. No call uses operator new, so that src/base/failing_new.h counts the caller's alone. Thread-safe.
#ifndef DRAFTMARK_SRC_CUDA_FAKE_RUNTIME_H_
#define DRAFTMARK_SRC_CUDA_FAKE_RUNTIME_H_

#include <cstdint>

namespace draftmark {

// Counted from 1. Only one fails; the next is good again.
void FailFakeCall(std::int64_t number);
// True if one has failed since FailFakeCall; its name is FailedFakeCall's.
bool StopFailingFakeCalls();
const char* FailedFakeCall();

struct FakeObjects {
  std::int64_t device_blocks = 0;
  std::int64_t pinned_blocks = 0;
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t graphs = 0;  // captured ones and launchable ones
  friend bool operator==(const FakeObjects&, const FakeObjects&) = default;
};
FakeObjects FakeObjectsAlive();

// Kernels that were to run, those of launched graphs included.
std::int64_t FakeKernelsLaunched();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_FAKE_RUNTIME_H_
