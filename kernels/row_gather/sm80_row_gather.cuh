// Row copies: one block for each row and RowGatherTraits::kColumns columns.
#ifndef DRAFTMARK_KERNELS_ROW_GATHER_SM80_ROW_GATHER_CUH_
#define DRAFTMARK_KERNELS_ROW_GATHER_SM80_ROW_GATHER_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"
#include "kernels/row_gather/row_gather.h"
#include "kernels/row_gather/row_gather_traits.h"

namespace draftmark::kernels {

template <bool kVector>
__global__ void RowGatherKernel(RowGatherArgs args) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t column = std::int64_t{blockIdx.y} * RowGatherTraits::kColumns;
  const std::int64_t left = args.width - column;
  const int width =
      left < RowGatherTraits::kColumns ? static_cast<int>(left) : RowGatherTraits::kColumns;
  const std::uint32_t index = args.index[row * args.index_step];
  const BFloat16* const source =
      index < args.from ? args.table + index * args.width + column : nullptr;
  CopyRow<kVector>(source, args.out + row * args.width + column, width);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROW_GATHER_SM80_ROW_GATHER_CUH_
