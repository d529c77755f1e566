// Rotary position embedding with YaRN and partial rotary: spec/drafter.md section 4.3.
#ifndef DRAFTMARK_SRC_REFERENCE_ROPE_H_
#define DRAFTMARK_SRC_REFERENCE_ROPE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/reference/numeric.h"

namespace draftmark::reference {

// What rotates a head of one drafter: a frequency per pair (float64; the policy narrows it) and
// which elements pair up.
struct RopeTable {
  std::vector<double> frequency;  // radians per position, one for each of the rotary_dim / 2 pairs
  double amplitude = 1;           // multiplies cos and sin
  std::size_t partner = 0;        // element i turns with element i + partner
};

// INVALID_ARGUMENT if the rotary width is odd, zero or wider than the head.
StatusOr<RopeTable> MakeRopeTable(const RopeConfig& rope, std::uint64_t head_dim);

// Rotates one head in place: y_i = x_i cos - x_p sin, y_p = x_p cos + x_i sin, one Store per
// output. Elements outside the pairs keep their bits.
template <typename N>
void RotateHead(const RopeTable& table, std::int64_t position,
                std::span<typename N::Storage> head) {
  for (std::size_t i = 0; i < table.frequency.size(); ++i) {
    const double angle = N::Angle(static_cast<double>(position), N::Frequency(table.frequency[i]));
    const double cosine = std::cos(angle) * table.amplitude;
    const double sine = std::sin(angle) * table.amplitude;
    const double a = N::Load(head[i]);
    const double b = N::Load(head[i + table.partner]);
    head[i] = N::Store(a * cosine - b * sine);
    head[i + table.partner] = N::Store(b * cosine + a * sine);
  }
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_ROPE_H_
