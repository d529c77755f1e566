// CallRecorder: which calls of CUDA's runtime and driver a piece of code makes, by name, through
// CUPTI's callbacks.
//
//   DM_ASSIGN_OR_RETURN(const auto recorder, CallRecorder::Create());
//   recorder->Start();
//   ... CUDA ...
//   const CallCounts calls = recorder->Stop();
//   calls.at("cudaLaunchKernel")   // 12
//
// CUPTI is opened as the program runs, where src/cuda/cublaslt_library.h looks for cuBLASLt: most
// machines with a GPU have no CUPTI. A call of the runtime shows with the driver's calls that it
// makes. One recorder at a time; other tools that use CUPTI (profilers, compute-sanitizer) exclude
// it. Start and Stop belong to one thread; calls of all threads are counted.
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_CALL_RECORDER_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_CALL_RECORDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace draftmark::kernels {

// By name, without a suffix for its version ("cuMemcpyHtoDAsync", not "cuMemcpyHtoDAsync_v2").
using CallCounts = std::map<std::string, std::uint64_t>;

enum class CallKind {
  kOther,
  kAllocates,   // or frees memory, or makes or destroys streams, events, graphs, modules
  kWaits,       // for the device
  kEventWaits,  // cudaEventSynchronize, and the driver's
};
// By the call's name, without the suffix for its version.
CallKind KindOfCall(std::string_view name);

class CallRecorder {
 public:
  // UNAVAILABLE: no library, or it refuses, with what it says.
  static StatusOr<std::unique_ptr<CallRecorder>> Create();
  virtual ~CallRecorder() = default;

  virtual Status Start() = 0;
  // What was called since Start.
  virtual StatusOr<CallCounts> Stop() = 0;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_CALL_RECORDER_H_
