// Copies chosen rows (spec/drafter.md sections 3.7, 6.1): out[i] = table[index[i * index_step]].
//
// The bits are copied as they are. An index outside the table gives a row of NaN. INVALID_ARGUMENT
// for sizes or pointers that cannot be. Common rules of launchers: kernels/device/arguments.h.
// Thread-safe.
#ifndef DRAFTMARK_KERNELS_ROW_GATHER_ROW_GATHER_H_
#define DRAFTMARK_KERNELS_ROW_GATHER_ROW_GATHER_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct RowGatherArgs {
  const std::uint32_t* index = nullptr;  // [rows], index_step apart
  const BFloat16* table = nullptr;       // [from, width]
  BFloat16* out = nullptr;               // [rows, width]
  std::int64_t rows = 0;
  std::int64_t from = 0;
  std::int64_t width = 0;
  std::int64_t index_step = 1;
};

Status LaunchRowGather(const RowGatherArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROW_GATHER_ROW_GATHER_H_
