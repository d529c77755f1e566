// Embedding rows: one block for each row and 1024 columns.
#ifndef DRAFTMARK_KERNELS_EMBED_SM80_EMBED_CUH_
#define DRAFTMARK_KERNELS_EMBED_SM80_EMBED_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/embed/embed.h"
#include "kernels/embed/embed_traits.h"
#include "kernels/slot_fill/sm80_slot_fill.cuh"

namespace draftmark::kernels {

// By a block.
template <bool kVector>
__device__ __forceinline__ void EmbedColumns(const EmbedArgs& args) {
  const std::int64_t row = blockIdx.x;
  const int column = static_cast<int>((blockIdx.y * blockDim.x + threadIdx.x) * kChunk);
  const int left = static_cast<int>(args.h) - column;  // columns from here on

  const std::uint32_t id = args.ids[row];
  const BFloat16* source = nullptr;
  const bool is_mask = args.band > 0 ? row % args.band > 0 : id == args.mask_token;
  if (args.mask_embedding != nullptr && is_mask) {
    source = args.mask_embedding;
  } else if (id < args.vocabulary) {
    source = args.table + id * args.h;
  }
  float values[kChunk] = {};
  if (source != nullptr && left > 0) LoadChunk<kVector>(source + column, left, values);
  float sum = 0;
  for (int i = 0; i < kChunk; ++i) {
    values[i] = source != nullptr ? __fmul_rn(values[i], args.scale) : FloatOf(kNanBits);
    const float rounded = ToFloat(Round(values[i]));
    if (i < left) sum = fmaf(rounded, rounded, sum);
  }
  if (left > 0) StoreChunk<kVector>(args.out + row * args.h + column, left, values);
  if (args.row_sums == nullptr) return;
  sum = BlockSum(sum);
  if (threadIdx.x == 0) args.row_sums[blockIdx.y * EmbedTraits::kSumRows + row] = sum;
}

template <bool kVector>
__global__ void EmbedKernel(EmbedArgs args) {
  LaunchDependents();
  WaitForPrevious();
  EmbedColumns<kVector>(args);
}

template <bool kVector, typename Slot>
__global__ void EmbedWithSlotsKernel(EmbedArgs args, SlotFillArgs fill, Slot* slots) {
  LaunchDependents();
  WaitForPrevious();
  if (blockIdx.y == 0 && threadIdx.x == 0) FillSlot(fill, blockIdx.x, slots);
  EmbedColumns<kVector>(args);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_EMBED_SM80_EMBED_CUH_
