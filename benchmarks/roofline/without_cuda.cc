#include "benchmarks/roofline/machine.h"

namespace draftmark {

StatusOr<std::unique_ptr<RooflineMachine>> OpenRooflineMachine() {
  return UnavailableError(
      "no usable CUDA device: this program was built without CUDA (tools/setup installs it)");
}

}  // namespace draftmark
