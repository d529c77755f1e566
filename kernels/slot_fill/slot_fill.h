// Cache slots of the block rows (spec/drafter.md sections 3.8, 8).
//
// Row j of band b has the logical index m = first[b * first_step] + j and the slot
// block_tables[b, m / 16] * 16 + m mod 16, computed in 64 bits. -1, the slot that kv_write skips, for
// an index behind the table's end, and for a slot that is too large for slots of 32 bits.
// `first` may be the second word of the attention's records, first_step their words. INVALID_ARGUMENT
// for sizes or pointers that cannot be. Common rules of launchers: kernels/device/arguments.h.
// Thread-safe.
#ifndef DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_H_
#define DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/device/slots.h"
#include "src/base/status.h"

namespace draftmark::kernels {

struct SlotFillArgs {
  const std::uint32_t* block_tables = nullptr;  // [rows / band, table]
  // [rows / band], first_step apart: logical index of each band's first row
  const std::uint32_t* first = nullptr;
  Slots slots;  // [rows]
  std::int64_t rows = 0;
  std::int64_t band = 0;   // rows of each band; divides rows
  std::int64_t table = 0;  // entries of each band's table
  std::int64_t first_step = 1;
};

// Whether the arguments can be, for others who fill slots by the same rule.
Status CheckSlotFill(const SlotFillArgs& args);

Status LaunchSlotFill(const SlotFillArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_H_
