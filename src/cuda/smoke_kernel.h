// A kernel that is as small as one can be, to show that the CUDA build and the device work.
#ifndef DRAFTMARK_SRC_CUDA_SMOKE_KERNEL_H_
#define DRAFTMARK_SRC_CUDA_SMOKE_KERNEL_H_

#include <vector>

#include "src/base/status.h"

namespace draftmark {

// values[i] * factor, computed on the current device.
StatusOr<std::vector<float>> ScaleOnDevice(const std::vector<float>& values, float factor);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_SMOKE_KERNEL_H_
