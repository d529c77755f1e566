/* Kernels that do what they must not, each in another way: for tests on a GPU. residual_add alone
 * is right.
 *
 *   nvcc -shared -Xcompiler=-fPIC -arch=native -I kernels/plugin -o libmisbehaving_cuda_plugin.so \
 *       kernels/plugin/testing/misbehaving_cuda_plugin.cu */
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "draftmark_plugin.h"

namespace {

using Bf16 = __nv_bfloat16;

template <typename T>
T* Get(const draftmark_call* call, const char* name) {
  return static_cast<T*>(draftmark_find_operand(call, name)->data);
}

cudaStream_t Stream(const draftmark_call* call) { return static_cast<cudaStream_t>(call->stream); }

__global__ void AddKernel(Bf16* x, const Bf16* delta, size_t count) {
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
    x[i] = __float2bfloat16(__bfloat162float(x[i]) + __bfloat162float(delta[i]));
  }
}

draftmark_result Add(const draftmark_call* call, draftmark_message*) {
  AddKernel<<<1, 256, 0, Stream(call)>>>(
      Get<Bf16>(call, "x"), Get<Bf16>(call, "delta"),
      draftmark_size(call, "rows") * draftmark_size(call, "width"));
  return DRAFTMARK_OK;
}

// An address that nobody has: the context is lost.
__global__ void IllegalKernel() { *reinterpret_cast<volatile int*>(16) = 1; }

draftmark_result Illegal(const draftmark_call* call, draftmark_message*) {
  IllegalKernel<<<1, 1, 0, Stream(call)>>>();
  return DRAFTMARK_OK;
}

// Of memory that nobody writes to meanwhile, which never holds this.
__global__ void HangKernel(const volatile unsigned short* memory) {
  while (*memory != 0xABCD) continue;
}

draftmark_result Hang(const draftmark_call* call, draftmark_message*) {
  HangKernel<<<1, 1, 0, Stream(call)>>>(Get<unsigned short>(call, "x"));
  return DRAFTMARK_OK;
}

__global__ void StoreKernel(unsigned char* memory) { *memory = 0; }

draftmark_result WriteBehind(const draftmark_call* call, draftmark_message*) {
  const draftmark_operand* const out = draftmark_find_operand(call, "out");
  StoreKernel<<<1, 1, 0, Stream(call)>>>(static_cast<unsigned char*>(out->data) + out->bytes);
  return DRAFTMARK_OK;
}

draftmark_result ChangeInput(const draftmark_call* call, draftmark_message*) {
  StoreKernel<<<1, 1, 0, Stream(call)>>>(Get<unsigned char>(call, "logits") + 1);
  return DRAFTMARK_OK;
}

draftmark_result Crash(const draftmark_call*, draftmark_message*) {
  std::raise(SIGSEGV);
  return DRAFTMARK_OK;
}

draftmark_result SmallWorkspace(const draftmark_call*, uint64_t* workspace_bytes,
                                draftmark_message*) {
  *workspace_bytes = 100;
  return DRAFTMARK_OK;
}

draftmark_result BeyondWorkspace(const draftmark_call* call, draftmark_message*) {
  StoreKernel<<<1, 1, 0, Stream(call)>>>(static_cast<unsigned char*>(call->workspace) + 103);
  return DRAFTMARK_OK;
}

// As if it were a sum.
draftmark_result Wrong(const draftmark_call* call, draftmark_message*) {
  AddKernel<<<1, 256, 0, Stream(call)>>>(
      Get<Bf16>(call, "gate"), Get<Bf16>(call, "up"),
      draftmark_size(call, "rows") * draftmark_size(call, "width"));
  return DRAFTMARK_OK;
}

draftmark_result Exit(const draftmark_call*, draftmark_message*) { std::exit(0); }

draftmark_result Fail(const draftmark_call*, draftmark_message* message) {
  std::strncpy(message->text, "out of luck", message->capacity - 1);
  return DRAFTMARK_FAILED;
}

draftmark_result CrashingQuery(const draftmark_call*, uint64_t*, draftmark_message*) {
  std::raise(SIGSEGV);
  return DRAFTMARK_OK;
}

// Runs well, and dies when it has run 300 times: in the middle of a benchmark's samples, in which a
// graph replays it.
void CountRuns(void*) {
  static int runs = 0;
  if (++runs == 300) std::raise(SIGSEGV);
}

draftmark_result CrashLater(const draftmark_call* call, draftmark_message*) {
  cudaMemsetAsync(draftmark_find_operand(call, "out")->data, 0,
                  draftmark_find_operand(call, "out")->bytes, Stream(call));
  cudaLaunchHostFunc(Stream(call), CountRuns, nullptr);
  return DRAFTMARK_OK;
}

constexpr uint64_t kAll = DRAFTMARK_DTYPE_BIT(DRAFTMARK_BF16) | DRAFTMARK_DTYPE_BIT(DRAFTMARK_U32) |
                          DRAFTMARK_DTYPE_BIT(DRAFTMARK_F32);

const draftmark_operation kTable[] = {
    {sizeof(draftmark_operation), 0, "residual_add", kAll, nullptr, nullptr, Add},
    {sizeof(draftmark_operation), 0, "rms_norm", kAll, nullptr, nullptr, Illegal},
    {sizeof(draftmark_operation), 0, "head_norm", kAll, nullptr, nullptr, Hang},
    {sizeof(draftmark_operation), 0, "row_gather", kAll, nullptr, nullptr, WriteBehind},
    {sizeof(draftmark_operation), 0, "argmax", kAll, nullptr, nullptr, ChangeInput},
    {sizeof(draftmark_operation), 0, "linear", kAll, nullptr, nullptr, Crash},
    {sizeof(draftmark_operation), 0, "confidence", kAll, nullptr, SmallWorkspace, BeyondWorkspace},
    {sizeof(draftmark_operation), 0, "silu_mul", kAll, nullptr, nullptr, Wrong},
    {sizeof(draftmark_operation), 0, "kv_split", kAll, nullptr, nullptr, Exit},
    {sizeof(draftmark_operation), 0, "top16", kAll, nullptr, nullptr, Fail},
    {sizeof(draftmark_operation), 0, "embed", kAll, nullptr, CrashingQuery, Add},
    {sizeof(draftmark_operation), 0, "conv_prepare", kAll, nullptr, nullptr, CrashLater},
};
constexpr uint32_t kCount = sizeof(kTable) / sizeof(kTable[0]);

}  // namespace

const draftmark_plugin* draftmark_plugin_entry(uint32_t) {
  static const draftmark_operation* operations[kCount];
  for (uint32_t i = 0; i < kCount; ++i) operations[i] = &kTable[i];
  static const draftmark_plugin plugin = {sizeof(draftmark_plugin),
                                          DRAFTMARK_PLUGIN_ABI,
                                          "misbehaving CUDA",
                                          "1",
                                          DRAFTMARK_CUDA,
                                          kCount,
                                          operations,
                                          nullptr,
                                          0,
                                          0,
                                          nullptr};
  return &plugin;
}
