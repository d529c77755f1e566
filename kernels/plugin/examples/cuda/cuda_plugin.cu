/* A plug-in for CUDA in plain C++: four operations, of which residual_add is wrong on purpose, so
 * that one sees what that looks like.
 *
 *   nvcc -O3 -shared -Xcompiler=-fPIC -arch=native -I kernels/plugin -o libcuda_plugin.so \
 *       kernels/plugin/examples/cuda/cuda_plugin.cu
 *   draftmark verify --backend ./libcuda_plugin.so
 *
 * Simple kernels, none of them fast. */
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cmath>

#include "draftmark_plugin.h"

namespace {

using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;

template <typename T>
T* Get(const draftmark_call* call, const char* name) {
  const draftmark_operand* const operand = draftmark_find_operand(call, name);
  return operand == nullptr ? nullptr : static_cast<T*>(operand->data);
}

// After each launch: what CUDA refuses is a failure with its own words.
draftmark_result Launched(draftmark_message* message) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return DRAFTMARK_OK;
  return draftmark_answer(message, DRAFTMARK_FAILED, cudaGetErrorString(error));
}

// The sum of all threads' values, in each of them.
__device__ float BlockSum(float value) {
  __shared__ float parts[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFF, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (const float part : parts) sum += part;
  __syncthreads();
  return sum;
}

// One block per row.
__global__ void RmsNormKernel(const Bf16* x, const Bf16* weight, Bf16* y, int width,
                              float epsilon) {
  const Bf16* const in = x + static_cast<size_t>(blockIdx.x) * width;
  Bf16* const out = y + static_cast<size_t>(blockIdx.x) * width;
  float squares = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float value = __bfloat162float(in[i]);
    squares += value * value;
  }
  const float scale = rsqrtf(BlockSum(squares) / static_cast<float>(width) + epsilon);
  for (int i = threadIdx.x; i < width; i += kThreads) {
    out[i] = __float2bfloat16(__bfloat162float(in[i]) * scale * __bfloat162float(weight[i]));
  }
}

draftmark_result RmsNorm(const draftmark_call* call, draftmark_message* message) {
  RmsNormKernel<<<static_cast<unsigned>(draftmark_size(call, "rows")), kThreads, 0,
                  static_cast<cudaStream_t>(call->stream)>>>(
      Get<Bf16>(call, "x"), Get<Bf16>(call, "weight"), Get<Bf16>(call, "y"),
      static_cast<int>(draftmark_size(call, "h")), draftmark_attribute(call, "epsilon"));
  return Launched(message);
}

__global__ void SiluMulKernel(Bf16* gate, const Bf16* up, size_t count) {
  const size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const float g = __bfloat162float(gate[i]);
  gate[i] = __float2bfloat16(g / (1.0f + expf(-g)) * __bfloat162float(up[i]));
}

draftmark_result SiluMul(const draftmark_call* call, draftmark_message* message) {
  const size_t count = draftmark_size(call, "rows") * draftmark_size(call, "width");
  SiluMulKernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0,
                  static_cast<cudaStream_t>(call->stream)>>>(Get<Bf16>(call, "gate"),
                                                             Get<Bf16>(call, "up"), count);
  return Launched(message);
}

// Wrong: the vectors of two leave out the last element of an odd count.
__global__ void ResidualAddKernel(Bf16* x, const Bf16* delta, size_t count) {
  const size_t i = 2 * (static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x);
  if (i + 1 >= count) return;
  for (size_t j = i; j < i + 2; ++j) {
    x[j] = __float2bfloat16(__bfloat162float(x[j]) + __bfloat162float(delta[j]));
  }
}

draftmark_result ResidualAdd(const draftmark_call* call, draftmark_message* message) {
  const size_t count = draftmark_size(call, "rows") * draftmark_size(call, "width");
  const size_t pairs = (count + 1) / 2;
  ResidualAddKernel<<<static_cast<unsigned>((pairs + kThreads - 1) / kThreads), kThreads, 0,
                      static_cast<cudaStream_t>(call->stream)>>>(Get<Bf16>(call, "x"),
                                                                 Get<Bf16>(call, "delta"), count);
  return Launched(message);
}

// One warp for each output.
__global__ void LinearKernel(const Bf16* x, const Bf16* weight, const Bf16* bias, Bf16* y, int n,
                             int k) {
  const int output = static_cast<int>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int row = static_cast<int>(blockIdx.y);
  if (output >= n) return;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < k; i += 32) {
    sum += __bfloat162float(x[static_cast<size_t>(row) * k + i]) *
           __bfloat162float(weight[static_cast<size_t>(output) * k + i]);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
  if (threadIdx.x % 32 != 0) return;
  if (bias != nullptr) sum += __bfloat162float(bias[output]);
  y[static_cast<size_t>(row) * n + output] = __float2bfloat16(sum);
}

draftmark_result Linear(const draftmark_call* call, draftmark_message* message) {
  const int n = static_cast<int>(draftmark_size(call, "n"));
  const int warps = kThreads / 32;
  const dim3 grid((n + warps - 1) / warps, static_cast<unsigned>(draftmark_size(call, "rows")));
  LinearKernel<<<grid, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      Get<Bf16>(call, "x"), Get<Bf16>(call, "weight"), Get<Bf16>(call, "bias"),
      Get<Bf16>(call, "y"), n, static_cast<int>(draftmark_size(call, "k")));
  return Launched(message);
}

constexpr uint64_t kBf16 = DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16);

// No softcap, and blockIdx.y is the row.
const draftmark_limit kLinearLimits[] = {{"cap", 0, 0}, {"rows", 1, 65535}};

const draftmark_operation kRmsNorm = {
    sizeof(draftmark_operation), 0, "rms_norm", kBf16, nullptr, nullptr, RmsNorm};
const draftmark_operation kSiluMul = {
    sizeof(draftmark_operation), 0, "silu_mul", kBf16, nullptr, nullptr, SiluMul};
const draftmark_operation kResidualAdd = {
    sizeof(draftmark_operation), 0, "residual_add", kBf16, nullptr, nullptr, ResidualAdd};
const draftmark_operation kLinear = {
    sizeof(draftmark_operation), 2, "linear", kBf16, kLinearLimits, nullptr, Linear};

const draftmark_operation* const kOperations[] = {&kRmsNorm, &kSiluMul, &kResidualAdd, &kLinear};

const draftmark_plugin kPlugin = {sizeof(draftmark_plugin),
                                  DRAFTMARK_PLUGIN_ABI,
                                  "plain CUDA",
                                  "1.0",
                                  DRAFTMARK_CUDA,
                                  sizeof(kOperations) / sizeof(kOperations[0]),
                                  kOperations,
                                  nullptr,
                                  0,
                                  0,
                                  nullptr};

}  // namespace

const draftmark_plugin* draftmark_plugin_entry(uint32_t host_abi) {
  return host_abi == DRAFTMARK_PLUGIN_ABI ? &kPlugin : nullptr;
}
