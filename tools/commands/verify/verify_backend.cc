#include "tools/commands/verify/verify_backend.h"

#include <memory>
#include <utility>

#include "conformance/cuda/cuda_backend.h"

namespace draftmark {
namespace {

struct Scratch {
  std::string name;
  CudaSessionKind kind;
};
// The default first.
const Scratch kScratches[] = {
    {"v2", {.scratch_version = 2}},
    {"v1", {.scratch_version = 1}},
    {"contiguous", {.scratch_version = 2, .paged = false}},
};

VerifyBackend Reference(Precision precision) {
  VerifyBackend backend;
  backend.arch = "cpu";
  backend.precision = precision;
  backend.check_operation = [precision](const OperationCase& c) {
    return CheckReference(c, precision);
  };
  backend.run_draft.push_back([precision](const DrafterCase& drafter_case) {
    return RunDrafterCase(drafter_case, precision, kReferenceBackend, OpenReferenceForCase);
  });
  return backend;
}

StatusOr<VerifyBackend> Cuda(const std::string& scratch, bool fast) {
  DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaBackend> opened, CudaBackend::Open());
  const std::shared_ptr<CudaBackend> cuda = std::move(opened);
  VerifyBackend backend;
  backend.arch = cuda->arch();
  backend.device = cuda->device().Describe();
  backend.precision = Precision::kBf16;
  backend.check_operation = [cuda](const OperationCase& c) {
    return CheckOperation(c, Precision::kBf16, kCudaBackend.name, SumType::kFloat32,
                          cuda->Operations());
  };
  for (const Scratch& one : kScratches) {
    if (scratch != "all" && scratch != one.name) continue;
    Backend judged = kCudaBackend;
    if (&one != kScratches) judged.scratch = one.name;
    if (!fast) judged.path = "simple";
    CudaSessionKind kind = one.kind;
    kind.fast = fast;
    backend.run_draft.push_back([cuda, judged, kind](const DrafterCase& drafter_case) {
      return RunDrafterCase(drafter_case, Precision::kBf16, judged, cuda->Sessions(kind));
    });
  }
  return backend;
}

}  // namespace

StatusOr<VerifyBackend> OpenVerifyBackend(const BackendOptions& options) {
  if (options.name != "cuda") {
    if (options.scratch) {
      return InvalidArgumentError("--scratch: only --backend cuda runs on a scratch");
    }
    if (options.path) {
      return InvalidArgumentError("--path: only --backend cuda has a fast and a simple one");
    }
    return Reference(options.precision == "bf16" ? Precision::kBf16 : Precision::kExact);
  }
  if (options.precision == "exact") {
    return InvalidArgumentError(
        "--precision exact: --backend cuda computes in bf16 only; exact is the reference's");
  }
  return Cuda(options.scratch.value_or(kScratches[0].name),
              options.path.value_or("fast") == "fast");
}

}  // namespace draftmark
