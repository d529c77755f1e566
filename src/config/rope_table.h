// What rotates the heads of a drafter: frequencies with YaRN and partial rotary (spec/drafter.md
// section 4.3). Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_CONFIG_ROPE_TABLE_H_
#define DRAFTMARK_SRC_CONFIG_ROPE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark {

// What rotates a head of one drafter: a frequency per pair (float64; backends narrow it) and
// which elements pair up.
struct RopeTable {
  std::vector<double> frequency;  // radians per position, one for each of the rotary_dim / 2 pairs
  double amplitude = 1;           // multiplies cos and sin
  std::size_t partner = 0;        // element i turns with element i + partner
};

// INVALID_ARGUMENT if the rotary width is odd, zero or wider than the head.
StatusOr<RopeTable> MakeRopeTable(const RopeConfig& rope, std::uint64_t head_dim);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_ROPE_TABLE_H_
