// Rotary position embedding in place: spec/drafter.md section 4.3. The table: src/config/rope_table.h.
#ifndef DRAFTMARK_SRC_REFERENCE_ROPE_H_
#define DRAFTMARK_SRC_REFERENCE_ROPE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/config/rope_table.h"
#include "src/reference/numeric.h"

namespace draftmark::reference {

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
