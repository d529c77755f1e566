#include "src/cuda/fake_runtime.h"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "src/base/check.h"
#include "src/cuda/fake_calls.h"

// What CUDA's headers leave undefined: streams, events and graphs behind their handles.
struct CUstream_st {
  bool capturing = false;
  bool spoilt = false;  // something was done that a capture forbids
  bool for_all_threads = false;
  std::size_t kernels = 0;
};
struct CUevent_st {
  bool timing = false;
};
struct CUgraph_st {
  std::size_t kernels = 0;
};
struct CUgraphExec_st {
  std::size_t kernels = 0;
};

namespace draftmark {
namespace {

struct Block {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool pinned = false;
};

// A table of fixed size: the runtime must not use the operator new that a test makes fail.
constexpr std::size_t kMostBlocks = 4096;
// CUDA promises 256, and kernels' vector loads rely on it.
constexpr std::size_t kAlignment = 256;

std::mutex mutex;
std::array<Block, kMostBlocks> blocks;
FakeObjects alive;
int captures = 0;  // that forbid allocations to all threads
thread_local int captures_here = 0;
thread_local cudaError_t last_error = cudaSuccess;
std::atomic<std::int64_t> until_failure = 0;  // 0: none is to fail
std::atomic<const char*> failed_call = nullptr;
std::atomic<std::int64_t> kernels_launched = 0;

cudaError_t Answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// The part of an allocation, or memory of the host that no allocation holds; never beyond one.
void CheckRange(const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto* const begin = static_cast<const std::byte*>(address);
  for (const Block& block : blocks) {
    if (block.begin == nullptr || begin < block.begin || begin >= block.begin + block.bytes) {
      continue;
    }
    DM_CHECK(bytes <= static_cast<std::size_t>(block.begin + block.bytes - begin));
  }
}

template <typename T>
T* Make(std::int64_t FakeObjects::*count) {
  void* const memory = std::malloc(sizeof(T));
  DM_CHECK(memory != nullptr);
  const std::lock_guard lock(mutex);
  ++(alive.*count);
  return new (memory) T();  // placement: allocates nothing
}

template <typename T>
cudaError_t Drop(T* object, std::int64_t FakeObjects::*count) {
  DM_CHECK(object != nullptr);
  std::free(object);
  const std::lock_guard lock(mutex);
  DM_CHECK(--(alive.*count) >= 0);
  return cudaSuccess;
}

cudaError_t Allocate(const char* call, void** address, std::size_t bytes, bool pinned) {
  if (FakeCallFails(call)) return cudaErrorMemoryAllocation;
  const std::lock_guard lock(mutex);
  if (captures + captures_here > 0) return Answer(cudaErrorStreamCaptureUnsupported);
  for (Block& block : blocks) {
    if (block.begin != nullptr) continue;
    const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
    if (memory == nullptr) return Answer(cudaErrorMemoryAllocation);
    std::memset(memory, 0, whole);
    block = {memory, bytes, pinned};
    ++(pinned ? alive.pinned_blocks : alive.device_blocks);
    *address = memory;
    return cudaSuccess;
  }
  return Answer(cudaErrorMemoryAllocation);
}

cudaError_t Release(void* address, bool pinned) {
  if (address == nullptr) return cudaSuccess;
  const std::lock_guard lock(mutex);
  for (Block& block : blocks) {
    if (block.begin != address || block.pinned != pinned) continue;
    std::free(block.begin);
    block = {};
    --(pinned ? alive.pinned_blocks : alive.device_blocks);
    return cudaSuccess;
  }
  DM_CHECK(false);  // not allocated, or freed before
  return cudaErrorInvalidValue;
}

cudaError_t Launch(const char* call, cudaStream_t stream) {
  if (FakeCallFails(call)) return cudaErrorMemoryAllocation;
  if (stream != nullptr && stream->capturing) {
    ++stream->kernels;
  } else {
    ++kernels_launched;
  }
  return cudaSuccess;
}

cudaError_t Copy(const char* call, void* to, const void* from, std::size_t bytes,
                 cudaStream_t stream) {
  if (FakeCallFails(call)) return cudaErrorMemoryAllocation;
  CheckRange(to, bytes);
  CheckRange(from, bytes);
  // As CUDA does, it takes null for no bytes, which memmove does not.
  if (bytes > 0 && (stream == nullptr || !stream->capturing)) std::memmove(to, from, bytes);
  return cudaSuccess;
}

// What waits must not stand in a capture, and spoils it.
cudaError_t Wait(const char* call, cudaStream_t stream) {
  if (FakeCallFails(call)) return cudaErrorMemoryAllocation;
  if (stream == nullptr || !stream->capturing) return cudaSuccess;
  stream->spoilt = true;
  return Answer(cudaErrorStreamCaptureUnsupported);
}

}  // namespace

bool FakeCallFails(const char* call) {
  if (until_failure > 0 && --until_failure == 0) {
    failed_call = call;
    last_error = cudaErrorMemoryAllocation;
    return true;
  }
  return false;
}

void FailFakeCall(std::int64_t number) {
  failed_call = nullptr;
  until_failure = number;
}

bool StopFailingFakeCalls() {
  until_failure = 0;
  return failed_call != nullptr;
}

const char* FailedFakeCall() { return failed_call == nullptr ? "none" : failed_call.load(); }

FakeObjects FakeObjectsAlive() {
  const std::lock_guard lock(mutex);
  return alive;
}

std::int64_t FakeKernelsLaunched() { return kernels_launched; }

}  // namespace draftmark

using draftmark::FakeObjects;

extern "C" {

// What the code that nvcc generates around kernels calls: its names.
// NOLINTBEGIN(bugprone-reserved-identifier)
void** __cudaRegisterFatBinary(void*) {
  static void* module = nullptr;
  return &module;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
namespace {
thread_local cudaStream_t configured_stream = nullptr;
}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, cudaStream_t stream) {
  configured_stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = dim3(1, 1, 1);
  *block = dim3(1, 1, 1);
  *shared = 0;
  *static_cast<cudaStream_t*>(stream) = configured_stream;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return draftmark::Launch("cudaLaunchKernel", stream);
}
// NOLINTEND(bugprone-reserved-identifier)
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return draftmark::Launch("cudaLaunchKernel", stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  return draftmark::Launch("cudaLaunchKernelExC", config->stream);
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = draftmark::last_error;
  draftmark::last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return draftmark::last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation           ? "cudaErrorMemoryAllocation"
         : error == cudaErrorStreamCaptureUnsupported ? "cudaErrorStreamCaptureUnsupported"
         : error == cudaErrorStreamCaptureInvalidated ? "cudaErrorStreamCaptureInvalidated"
                                                      : "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "not possible here";
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return draftmark::Allocate("cudaMalloc", address, bytes, false);
}
cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  return draftmark::Allocate("cudaMallocHost", address, bytes, true);
}
cudaError_t cudaFree(void* address) { return draftmark::Release(address, false); }
cudaError_t cudaFreeHost(void* address) { return draftmark::Release(address, true); }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  if (draftmark::FakeCallFails("cudaPointerGetAttributes")) return cudaErrorMemoryAllocation;
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  const std::lock_guard lock(draftmark::mutex);
  for (const draftmark::Block& block : draftmark::blocks) {
    const auto* const at = static_cast<const std::byte*>(address);
    if (block.begin == nullptr || at < block.begin || at >= block.begin + block.bytes) continue;
    attributes->type = block.pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return draftmark::Copy("cudaMemcpy", to, from, bytes, nullptr);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return draftmark::Copy("cudaMemcpyAsync", to, from, bytes, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (draftmark::FakeCallFails("cudaMemcpy2DAsync")) return cudaErrorMemoryAllocation;
  if (width == 0 || height == 0) return cudaSuccess;
  draftmark::CheckRange(to, (height - 1) * to_pitch + width);
  draftmark::CheckRange(from, (height - 1) * from_pitch + width);
  for (std::size_t row = 0; row < height && !(stream != nullptr && stream->capturing); ++row) {
    std::memmove(static_cast<std::byte*>(to) + row * to_pitch,
                 static_cast<const std::byte*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (draftmark::FakeCallFails("cudaMemsetAsync")) return cudaErrorMemoryAllocation;
  draftmark::CheckRange(to, bytes);
  if (bytes > 0 && (stream == nullptr || !stream->capturing)) std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (draftmark::FakeCallFails("cudaStreamCreateWithFlags")) return cudaErrorMemoryAllocation;
  *stream = draftmark::Make<CUstream_st>(&FakeObjects::streams);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return draftmark::Drop(stream, &FakeObjects::streams);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return draftmark::Wait("cudaStreamSynchronize", stream);
}
cudaError_t cudaDeviceSynchronize() { return draftmark::Wait("cudaDeviceSynchronize", nullptr); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return draftmark::FakeCallFails("cudaStreamWaitEvent") ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (draftmark::FakeCallFails("cudaEventCreateWithFlags")) return cudaErrorMemoryAllocation;
  *event = draftmark::Make<CUevent_st>(&FakeObjects::events);
  (*event)->timing = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return draftmark::Drop(event, &FakeObjects::events);
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return draftmark::FakeCallFails("cudaEventRecord") ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return draftmark::FakeCallFails("cudaEventSynchronize") ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin->timing || !end->timing) return draftmark::Answer(cudaErrorInvalidResourceHandle);
  *milliseconds = 1;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (draftmark::FakeCallFails("cudaStreamBeginCapture")) return cudaErrorMemoryAllocation;
  DM_CHECK(!stream->capturing);
  DM_CHECK(mode != cudaStreamCaptureModeRelaxed);
  *stream = {.capturing = true, .for_all_threads = mode == cudaStreamCaptureModeGlobal};
  const std::lock_guard lock(draftmark::mutex);
  ++(stream->for_all_threads ? draftmark::captures : draftmark::captures_here);
  return cudaSuccess;
}
// Ends it also when it fails, as CUDA's does.
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  DM_CHECK(stream->capturing);
  const CUstream_st captured = *stream;
  *stream = {};
  {
    const std::lock_guard lock(draftmark::mutex);
    --(captured.for_all_threads ? draftmark::captures : draftmark::captures_here);
  }
  if (draftmark::FakeCallFails("cudaStreamEndCapture")) return cudaErrorMemoryAllocation;
  if (captured.spoilt) return draftmark::Answer(cudaErrorStreamCaptureInvalidated);
  *graph = draftmark::Make<CUgraph_st>(&FakeObjects::graphs);
  (*graph)->kernels = captured.kernels;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return draftmark::Drop(graph, &FakeObjects::graphs);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (draftmark::FakeCallFails("cudaGraphGetNodes")) return cudaErrorMemoryAllocation;
  *count = graph->kernels;
  for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) nodes[i] = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType* type) {
  *type = cudaGraphNodeTypeKernel;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  if (draftmark::FakeCallFails("cudaGraphInstantiate")) return cudaErrorMemoryAllocation;
  *made = draftmark::Make<CUgraphExec_st>(&FakeObjects::graphs);
  (*made)->kernels = graph->kernels;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return draftmark::Drop(graph, &FakeObjects::graphs);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  if (draftmark::FakeCallFails("cudaGraphLaunch")) return cudaErrorMemoryAllocation;
  draftmark::kernels_launched += static_cast<std::int64_t>(graph->kernels);
  return cudaSuccess;
}

}  // extern "C"
