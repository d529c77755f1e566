// Attention of the block rows of each band over its paged keys (spec/drafter.md sections 4.4, 4.5).
//
// Row j of a band sees the keys m < kv_len at a distance of at least 0 if causal, and between -window
// and window (both excluded) if there is a window. Distances are those of RoPE positions:
//
//   without slot_positions  q_offset + j - m. The history has no gap: key m has the position
//                           q_rope_pos - q_offset + m, and q_rope_pos cancels out, so that a record
//                           of scratch v1 (two words) is as good as one of v2 (three).
//   with slot_positions     q_rope_pos + j - slot_positions[slot of m], for histories with gaps.
//                           Positions ascend with m, and keys from q_offset on are the rows' own,
//                           without gaps. Without a mask nothing reads them. The same bits as
//                           without, where there is no gap.
//
// The rows may also be all that there is: context and block in row buffers, with the buffers as the
// pool, a table of 0, 1, 2, ... and records {rows, 0, position of the first block row - context
// rows}. With gaps the block rows alone are right then, the others stand at no position of theirs.
// Buffers that end within a block of 16 rows need `generic`.
//
// The kernel reads the records when it starts, so a replay sees new values. The launch's shape does
// not depend on kv_len. It may begin before the kernel in front of it has ended, and waits for it
// before it writes, or reads anything but records and tables: those must have been complete when that one
// was launched (kernels/device/dependent_launch.cuh). With old_keys_complete it reads those keys, too.
//
// A band has the same bits in every run, alone and among others. Whole Hopper GPUs have kernels of their
// own for d 64 and 128 (PagedAttentionTraits::Hopper), with bits of their own: the same in every run, and
// for the same number of bands wherever a band stands among them.
//
// Scores, softmax and sums are FP32. Products run on tensor cores; a probability enters them as the
// sum of two BF16 numbers, which keeps 16 bits of it. A sink joins the denominator only. A row that
// sees nothing gives 0. Keys from kv_len on count for nothing, whatever they hold: the kernels of
// every GPU do not read them, Hopper's copy the rest of the last key's block. Blocks behind the table's
// end are not read; block ids in use must lie in the pool. A masked key has the weight 0, and its value
// must be finite.
//
// INVALID_ARGUMENT for sizes, pointers or a workspace that cannot be (d up to 256). Common rules of
// launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_PAGED_ATTENTION_H_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_PAGED_ATTENTION_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct PagedAttentionArgs {
  const BFloat16* q = nullptr;                   // [bands, rows, heads, d], rotated
  const BFloat16* k_pool = nullptr;              // [blocks, 16, kv, d]
  const BFloat16* v_pool = nullptr;              // [blocks, 16, kv, d]
  const std::uint32_t* block_tables = nullptr;   // [bands, table]
  const std::uint32_t* arguments = nullptr;      // [bands, record_words]: kv_len, q_offset, ...
  const std::int32_t* slot_positions = nullptr;  // [blocks * 16], not negative; may be null
  const BFloat16* sinks = nullptr;               // [heads]; may be null
  BFloat16* out = nullptr;                       // [bands, rows, heads, d]
  std::int64_t bands = 1;
  std::int64_t rows = 0;  // of a band
  std::int64_t heads = 0;
  std::int64_t kv = 0;  // divides heads; query head i reads KV head i / (heads / kv)
  std::int64_t d = 0;
  std::int64_t table = 0;
  std::int64_t record_words = 3;  // 2 on scratch v1; slot_positions need 3
  std::int64_t window = 0;        // 0: none
  bool causal = false;
  void* workspace = nullptr;  // PagedAttentionTraits::WorkspaceBytes
  std::uint64_t workspace_bytes = 0;
  bool generic = false;  // the kernels of every GPU, also where there are others
  // Keys below q_offset, their values and positions, were complete when the kernel in front got leave to
  // begin its work, and only then did it let this one start: they may be read before it has ended.
  bool old_keys_complete = false;
};

// Whether the arguments can be, for others who attend by the same rules.
Status CheckPagedAttention(const PagedAttentionArgs& args);

// Whether one tensor map can hold keys and values.
bool PoolsFitOneMap(const PagedAttentionArgs& args);

Status LaunchPagedAttention(const PagedAttentionArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_PAGED_ATTENTION_H_
