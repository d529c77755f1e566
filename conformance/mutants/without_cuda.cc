#include "conformance/mutants/check.h"

namespace draftmark {

StatusOr<Checks> CudaSuite(const std::string&) {
  return UnavailableError("backend cuda: this build has no CUDA");
}

bool DeviceIsLost() { return false; }

}  // namespace draftmark
