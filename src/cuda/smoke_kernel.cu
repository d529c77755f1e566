#include <memory>

#include "src/cuda/cuda_status.h"
#include "src/cuda/smoke_kernel.h"
#include "src/cuda/smoke_scale.cuh"

namespace draftmark {
namespace {

__global__ void ScaleKernel(float* values, int count, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] = ScaleOne(values[i], factor);
}

struct CudaFree {
  void operator()(float* p) const { (void)cudaFree(p); }
};

}  // namespace

StatusOr<std::vector<float>> ScaleOnDevice(const std::vector<float>& values, float factor) {
  if (values.empty()) return std::vector<float>();
  const std::size_t bytes = values.size() * sizeof(float);
  float* memory = nullptr;
  DM_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&memory, bytes), "cudaMalloc"));
  const std::unique_ptr<float, CudaFree> owner(memory);
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy"));

  constexpr int kThreads = 128;
  const int count = static_cast<int>(values.size());
  ScaleKernel<<<(count + kThreads - 1) / kThreads, kThreads>>>(memory, count, factor);
  DM_RETURN_IF_ERROR(CudaStatus(cudaGetLastError(), "ScaleKernel"));

  std::vector<float> result(values.size());
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpy(result.data(), memory, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy"));
  return result;
}

}  // namespace draftmark
