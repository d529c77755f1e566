// A device function of another file than its caller, so that the device link has work.
#ifndef DRAFTMARK_SRC_CUDA_SMOKE_SCALE_CUH_
#define DRAFTMARK_SRC_CUDA_SMOKE_SCALE_CUH_

namespace draftmark {

__device__ float ScaleOne(float value, float factor);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_SMOKE_SCALE_CUH_
