// Geometries for tests of the DFlash scratch.
#ifndef DRAFTMARK_SRC_SCRATCH_DFLASH_TEST_GEOMETRY_H_
#define DRAFTMARK_SRC_SCRATCH_DFLASH_TEST_GEOMETRY_H_

#include "src/scratch/dflash_layout.h"

namespace draftmark {

// A small drafter with every head: h 64, q_dim 64, kv_dim 32, I 96, L 2, V 100, block 5.
inline DflashScratchRequest TinyRequest(std::uint64_t version, std::uint64_t ctx_window = 32,
                                        std::uint64_t max_batch = 1) {
  DflashScratchRequest r;
  r.geometry.hidden_size = 64;
  r.geometry.num_hidden_layers = 2;
  r.geometry.num_attention_heads = 4;
  r.geometry.num_key_value_heads = 2;
  r.geometry.head_dim = 16;
  r.geometry.intermediate_size = 96;
  r.geometry.vocab_size = 100;
  r.geometry.target_taps = 3;
  r.geometry.target_hidden_size = 64;
  r.geometry.block_size = 5;
  r.geometry.markov_rank = 8;
  r.geometry.conv_kernel_size = 2;
  r.geometry.conv_group_size = 16;
  r.geometry.selector_rank = 32;
  r.tensors = {.markov = true, .confidence = true, .convs = true, .selector = true};
  r.version = version;
  r.ctx_window = ctx_window;
  r.max_batch = max_batch;
  return r;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DFLASH_TEST_GEOMETRY_H_
