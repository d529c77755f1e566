#include "conformance/cuda/cuda_backend.h"

namespace draftmark {

StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::Open() {
  return UnavailableError(
      "backend cuda: this program was built without CUDA (tools/setup installs it)");
}

}  // namespace draftmark
