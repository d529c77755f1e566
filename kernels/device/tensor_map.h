// Tensor maps: what the copy engine of sm_90 knows about a tensor in device memory.
#ifndef DRAFTMARK_KERNELS_DEVICE_TENSOR_MAP_H_
#define DRAFTMARK_KERNELS_DEVICE_TENSOR_MAP_H_

#include <cuda.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

// Dimensions, the innermost first; it is contiguous. Four of them, or five if `rank` says so. Sizes and boxes (of
// one copy; the innermost 64) in elements, and strides of the outer dimensions, multiples of 8.
struct TensorMapShape {
  static constexpr int kMostRank = 5;
  int rank = 4;
  std::int64_t sizes[kMostRank] = {1, 1, 1, 1, 1};
  std::int64_t strides[kMostRank - 1] = {8, 8, 8, 8};
  std::int64_t box[kMostRank] = {64, 1, 1, 1, 1};
};

// What the copy engine takes as a distance.
inline constexpr std::int64_t kMostMapStrideBytes = (std::int64_t{1} << 40) - 16;

// Of BF16 in the 128-byte swizzle; what lies outside of the sizes reads as zero. The address is a
// multiple of 16. UNAVAILABLE if the driver does not know tensor maps, INTERNAL if it refuses this one.
// Thread-safe.
Status MakeTensorMap(const BFloat16* tensor, const TensorMapShape& shape, CUtensorMap& map);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_TENSOR_MAP_H_
