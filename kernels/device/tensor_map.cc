#include "kernels/device/tensor_map.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

struct Encoder {
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
};

// Through the runtime, so that no program needs the driver's library to start.
StatusOr<Encoder> FindEncoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                  /*cudaVersion=*/12000, cudaEnableDefault, &found),
                 "cudaGetDriverEntryPointByVersion"));
  if (found != cudaDriverEntryPointSuccess) {
    return UnavailableError("the driver has no cuTensorMapEncodeTiled");
  }
  return Encoder{reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)};
}

}  // namespace

Status MakeTensorMap(const BFloat16* tensor, const TensorMapShape& shape, CUtensorMap& map) {
  static const StatusOr<Encoder> encoder = FindEncoder();
  DM_RETURN_IF_ERROR(encoder.status());
  constexpr int kMost = TensorMapShape::kMostRank;
  cuuint64_t sizes[kMost], strides[kMost - 1];
  cuuint32_t box[kMost];
  const cuuint32_t steps[kMost] = {1, 1, 1, 1, 1};
  for (int i = 0; i < shape.rank; ++i) {
    sizes[i] = static_cast<cuuint64_t>(shape.sizes[i]);
    box[i] = static_cast<cuuint32_t>(shape.box[i]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(shape.strides[i - 1]) * sizeof(BFloat16);
  }
  const CUresult result =
      encoder->encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, static_cast<cuuint32_t>(shape.rank),
                      const_cast<BFloat16*>(tensor), sizes, strides, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return InternalError(
        fmt::format("cuTensorMapEncodeTiled [{}] by [{}], innermost first: error {}",
                    fmt::join(sizes, sizes + shape.rank, ", "),
                    fmt::join(box, box + shape.rank, ", "), static_cast<int>(result)));
  }
  return OkStatus();
}

}  // namespace draftmark::kernels
