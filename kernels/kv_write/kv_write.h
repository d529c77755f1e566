// Copies K and V rows into cache slots (spec/drafter.md section 3.8).
//
// A negative slot skips its row; so does one behind the pool's end, where a write would damage
// foreign memory. Two rows of one launch must not share a slot.
//
// With `positions`, each written row's RoPE position goes to its slot of `slot_positions`, where
// paged_attention reads it. That table belongs to all layers of a draft: one layer's launch writes
// it, and the others pass null.
//
// V rows may lie further apart, as the fused context projection leaves them.
//
// INVALID_ARGUMENT for sizes or pointers that cannot be, and for one of the two without the other.
// Common rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_KV_WRITE_KV_WRITE_H_
#define DRAFTMARK_KERNELS_KV_WRITE_KV_WRITE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/device/slots.h"
#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct KvWriteArgs {
  const BFloat16* k = nullptr;              // [rows, width]
  const BFloat16* v = nullptr;              // [rows, width], v_stride apart
  ConstSlots slots;                         // [rows]
  const std::int32_t* positions = nullptr;  // [rows]; may be null
  BFloat16* k_pool = nullptr;               // [pool_slots, width]
  BFloat16* v_pool = nullptr;               // [pool_slots, width]
  std::int32_t* slot_positions = nullptr;   // [pool_slots]; null like positions
  std::int64_t rows = 0;
  std::int64_t width = 0;       // n_kv * d
  std::int64_t pool_slots = 0;  // 16 for each block of the pool
  std::int64_t v_stride = 0;    // elements; 0: width
};

Status LaunchKvWrite(const KvWriteArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_WRITE_KV_WRITE_H_
