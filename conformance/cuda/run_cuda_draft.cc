#include "conformance/cuda/cuda_backend.h"

namespace draftmark {

StatusOr<CaseReport> RunCudaDraft(CudaBackend& cuda, const CudaSessionKind& kind,
                                  const DrafterCase& drafter_case) {
  const Backend backend = CudaBackendOf(kind);
  const bool alone = kind.scratch_version == 1 || !kind.paged;
  if (!alone || drafter_case.neighbours().empty()) {
    return RunDrafterCase(drafter_case, Precision::kBf16, backend, cuda.Sessions(kind));
  }
  CaseReport report;
  report.id = drafter_case.id().ToString();
  report.directory = drafter_case.directory();
  report.backend = backend.name;
  report.precision = Precision::kBf16;
  report.scratch = backend.scratch;
  report.path = backend.path;
  report.no_result.reason = "it holds one sequence";
  return report;
}

}  // namespace draftmark
