// What of a drafter decides the size of its scratch: widths, heads, and which tensors it has.
//
// Either taken from a config, or filled by hand for geometries that have no config file. Symbols
// are those of spec/drafter.md section 1. Plain value types.
#ifndef DRAFTMARK_SRC_SCRATCH_DFLASH_GEOMETRY_H_
#define DRAFTMARK_SRC_SCRATCH_DFLASH_GEOMETRY_H_

#include <cstdint>
#include <optional>

#include "src/config/drafter_config.h"

namespace draftmark {

struct DflashGeometry {
  std::uint64_t hidden_size = 0;          // h
  std::uint64_t num_hidden_layers = 0;    // L
  std::uint64_t num_attention_heads = 0;  // n_q
  std::uint64_t num_key_value_heads = 0;  // n_kv
  std::uint64_t head_dim = 0;             // d
  std::uint64_t intermediate_size = 0;    // I
  std::uint64_t vocab_size = 0;           // V
  std::uint64_t target_taps = 0;          // L_t
  std::uint64_t target_hidden_size = 0;   // h_t
  std::uint64_t block_size = 0;           // gamma as trained; 0 if unknown
  std::uint64_t markov_rank = 0;          // r_m
  std::uint64_t conv_kernel_size = 0;     // taps of the dynamic convolution
  std::uint64_t conv_group_size = 0;
  std::optional<std::uint64_t> selector_rank;  // r; absent: 256

  static DflashGeometry FromConfig(const DrafterConfig& config);
};

// Which heads a checkpoint carries. Fields are null by these, not by the config, except for the
// Markov fields (spec/dflash_scratch.md section 1, NULL rules).
struct DrafterTensorsPresent {
  bool markov = false;      // markov_w1 and markov_w2
  bool confidence = false;  // the confidence projection
  bool convs = false;       // kernel_projection of the dynamic convolutions
  bool selector = false;    // the selector's predecessor codebook

  // What a checkpoint of this config carries, when none is at hand.
  static DrafterTensorsPresent FromConfig(const DrafterConfig& config);
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DFLASH_GEOMETRY_H_
