// Cache slots of the block rows (spec/drafter.md sections 3.8, 8).
//
// Row j of band b has the logical index m = first[b] + j and the slot
// block_tables[b, m / 16] * 16 + m mod 16, in 64 bits. An index behind the table's end gives -1, the
// slot that kv_write skips. INVALID_ARGUMENT for sizes or pointers that cannot be. Common rules of
// launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_H_
#define DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"

namespace draftmark::kernels {

struct SlotFillArgs {
  const std::uint32_t* block_tables = nullptr;  // [rows / band, table]
  const std::uint32_t* first = nullptr;         // [rows / band]: logical index of each first row
  std::int64_t* slots = nullptr;                // [rows]
  std::int64_t rows = 0;
  std::int64_t band = 0;   // rows of each band; divides rows
  std::int64_t table = 0;  // entries of each band's table
};

Status LaunchSlotFill(const SlotFillArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_H_
