// The CUDA kernels as a backend of the conformance suites: drafts and operations on the first GPU.
//
//   DM_ASSIGN_OR_RETURN(const std::unique_ptr<CudaBackend> cuda, CudaBackend::Open());
//   RunDrafterCase(drafter_case, Precision::kBf16, kCudaBackend, cuda->Sessions());
//   CheckOperation(c, Precision::kBf16, "cuda", SumType::kFloat32, cuda->Operations());
//
// Errors: where host memory ends, RESOURCE_EXHAUSTED. Sessions and operations use the backend's
// allocator, library and stream: it must outlive them. One thread at a time.
#ifndef DRAFTMARK_CONFORMANCE_CUDA_CUDA_BACKEND_H_
#define DRAFTMARK_CONFORMANCE_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>

#include "conformance/cuda/timed_draft.h"
#include "conformance/drafts/run_case.h"
#include "conformance/operations/check_operation.h"
#include "src/base/status.h"
#include "src/cases/generated_data.h"
#include "src/config/drafter_config.h"
#include "src/cuda/device.h"
#include "src/weights/weights.h"

namespace draftmark {

inline const Backend kCudaBackend = {"cuda", Accumulation::kFloat32};

struct CudaSessionKind {
  std::uint64_t scratch_version = 2;
  bool paged = true;
  bool fast = true;  // CudaSessionOptions::fast
};

// Who is judged when such sessions run: scratch and path are named where they are not the default.
inline Backend CudaBackendOf(const CudaSessionKind& kind) {
  Backend backend = kCudaBackend;
  if (!kind.paged) backend.scratch = "contiguous";
  if (kind.paged && kind.scratch_version == 1) {
    backend.scratch = "v1";
    backend.index_masks = true;
  }
  if (!kind.fast) backend.path = "simple";
  return backend;
}

class CudaBackend;
// RunDrafterCase on such sessions. Scratch v1 and the path without a cache hold one sequence: there a
// draft among others is unsupported, and says so.
StatusOr<CaseReport> RunCudaDraft(CudaBackend& cuda, const CudaSessionKind& kind,
                                  const DrafterCase& drafter_case);

class CudaBackend {
 public:
  // UNAVAILABLE without a driver, a device or cuBLASLt, and in builds without CUDA: the message says
  // which.
  static StatusOr<std::unique_ptr<CudaBackend>> Open();
  virtual ~CudaBackend() = default;

  virtual const DeviceInfo& device() const = 0;
  // "sm_90": names the file of expectations.
  virtual std::string arch() const = 0;
  // kBf16 only: kExact is UNIMPLEMENTED.
  virtual OpenSession Sessions(const CudaSessionKind& kind = {}) = 0;
  // Both on scratch v2, paged; on weights that are generated on the device, and on those of a
  // checkpoint, which need not outlive the call. Errors: those of the allocator, and a config that
  // the kernels do not take.
  virtual StatusOr<std::unique_ptr<TimedDraft>> Generate(const DrafterConfig& config,
                                                         const DataGenerator& generator,
                                                         const SessionLimits& limits) = 0;
  virtual StatusOr<std::unique_ptr<TimedDraft>> Upload(const DrafterConfig& config,
                                                       const DrafterWeights& weights,
                                                       const SessionLimits& limits) = 0;
  virtual RunOperation Operations() = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_CUDA_CUDA_BACKEND_H_
