#include "src/cuda/device.h"

namespace draftmark {

StatusOr<std::vector<DeviceInfo>> ListDevices() {
  return UnavailableError("no usable CUDA device: this program was built without CUDA");
}

}  // namespace draftmark
