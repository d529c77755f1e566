#include "kernels/stream_chain/tensor_map.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// Through the runtime, so that no program needs the driver's library to start.
StatusOr<Encode> FindEncode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  DM_RETURN_IF_ERROR(CudaStatus(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, /*cudaVersion=*/12000,
                                       cudaEnableDefault, &found),
      "cudaGetDriverEntryPointByVersion"));
  if (found != cudaDriverEntryPointSuccess) {
    return UnavailableError("the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<Encode>(function);
}

}  // namespace

Status MakeWeightMap(const BFloat16* weight, std::int64_t n, std::int64_t k, int rows, int blocks,
                     CUtensorMap& map) {
  static const StatusOr<Encode> encode = FindEncode();
  DM_RETURN_IF_ERROR(encode.status());
  constexpr cuuint64_t kBlock = 64;
  const cuuint64_t sizes[3] = {kBlock, static_cast<cuuint64_t>(n),
                               static_cast<cuuint64_t>(k) / kBlock};
  const cuuint64_t strides[2] = {static_cast<cuuint64_t>(k) * sizeof(BFloat16),
                                 kBlock * sizeof(BFloat16)};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(kBlock), static_cast<cuuint32_t>(rows),
                             static_cast<cuuint32_t>(blocks)};
  const cuuint32_t steps[3] = {1, 1, 1};
  const CUresult result = (*encode)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<BFloat16*>(weight), sizes, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return InternalError(
        fmt::format("cuTensorMapEncodeTiled [{}, {}]: error {}", n, k, static_cast<int>(result)));
  }
  return OkStatus();
}

}  // namespace draftmark::kernels
