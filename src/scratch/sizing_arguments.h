// The arguments and flags of sizing: everything but the model config that decides a size
// (spec/buffer_sizes.md section 2).
#ifndef DRAFTMARK_SRC_SCRATCH_SIZING_ARGUMENTS_H_
#define DRAFTMARK_SRC_SCRATCH_SIZING_ARGUMENTS_H_

#include <cstdint>

namespace draftmark {

// Streaming multiprocessors of the spec's reference device (sm_121): one split-K partial each. The
// split-K dispatcher must use the same number.
inline constexpr std::uint64_t kReferenceSmCount = 48;

struct SizingArguments {
  std::uint64_t max_batch_tokens = 0;  // m: most token rows of one pass; 0 is fine for sizing only
  std::uint64_t max_seq_len = 0;       // L: longest context in tokens
  std::uint64_t kv_block_size = 0;     // B: tokens per KV page; 0 means 256 blocks
  std::uint64_t max_batch_size = 0;    // bs: sequences decoded at once
  // Both are explicit and independent of each other; no environment is read.
  bool native_q2 = false;
  bool native_q2_mmq = false;
  std::uint64_t sm_count = kReferenceSmCount;

  bool operator==(const SizingArguments&) const = default;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_SIZING_ARGUMENTS_H_
