// Tensor maps of weight matrices for the copy engine of sm_90.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_TENSOR_MAP_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_TENSOR_MAP_H_

#include <cuda.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

// `weight` [n, k] seen as [k / 64][n][64], with boxes of `blocks` x `rows` x 64 in the 128-byte
// swizzle; what lies outside reads as zero. k is a multiple of 64, the address of 16. UNAVAILABLE if
// the driver does not know tensor maps, INTERNAL if it refuses this one.
Status MakeWeightMap(const BFloat16* weight, std::int64_t n, std::int64_t k, int rows, int blocks,
                     CUtensorMap& map);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_TENSOR_MAP_H_
