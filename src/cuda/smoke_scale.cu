#include "src/cuda/smoke_scale.cuh"

namespace draftmark {

__device__ float ScaleOne(float value, float factor) { return value * factor; }

}  // namespace draftmark
