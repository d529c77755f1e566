// The small operations of a layer: RMSNorm, SwiGLU, residual add, embedding, argmax.
// spec/drafter.md sections 4 and 5.
#ifndef DRAFTMARK_SRC_REFERENCE_ELEMENTWISE_H_
#define DRAFTMARK_SRC_REFERENCE_ELEMENTWISE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/margins.h"
#include "src/faults/fault.h"
#include "src/reference/numeric.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

// Over each of `rows` rows of `width` values, in place or not: y = Store(x / sqrt(mean(x^2) +
// epsilon) * w). One rounding; the weight multiplies as it is (not 1 + w). Also the per-head norms:
// rows = tokens * heads, width = head_dim.
template <typename N>
void RmsNorm(std::span<const typename N::Storage> x, std::size_t rows, std::size_t width,
             std::span<const BFloat16> weight, double epsilon, std::span<typename N::Storage> out) {
  const double one = DM_FAULT(kNormPlusOne) ? 1 : 0;
  if (DM_FAULT(kEpsilonConstant)) epsilon = 1e-6;
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double value = N::Load(x[r * width + i]);
      sum += value * value;
    }
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      out[r * width + i] =
          N::Store(N::Load(x[r * width + i]) * scale * (weight[i].ToDouble() + one));
    }
  }
}

// gate = Store(g * sigmoid(g) * up), in place in `gate`. No clamp.
template <typename N>
void SiluMul(std::span<typename N::Storage> gate, std::span<const typename N::Storage> up) {
  for (std::size_t i = 0; i < gate.size(); ++i) {
    double g = N::Load(gate[i]);
    double u = N::Load(up[i]);
    if (DM_FAULT(kSwigluClamped)) {
      g = std::min(g, 10.0);
      u = std::clamp(u, -10.0, 10.0);
    }
    gate[i] = N::Store(g / (1.0 + std::exp(-g)) * u);
  }
}

// x = Store(x + delta).
template <typename N>
void AddInPlace(std::span<typename N::Storage> x, std::span<const typename N::Storage> delta) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = N::Store(N::Load(x[i]) + N::Load(delta[i]));
}

// out = Store(embedding * scale): exact for scale 1.
template <typename N>
void EmbedRow(std::span<const BFloat16> embedding, double scale,
              std::span<typename N::Storage> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = N::Store(embedding[i].ToDouble() * scale);
}

// What the multiplier and the softcap make of a logit's unrounded accumulator, in that order (spec/drafter.md
// section 5); a cap of 0 is none.
inline double CappedLogit(double accumulator, double multiplier, double cap) {
  const double scaled = accumulator * multiplier;
  return cap > 0 ? cap * std::tanh(scaled / cap) : scaled;
}

// The values below which nothing is selected, and the id of a row without any candidate
// (spec/drafter.md section 5).
inline constexpr double kNoCandidate = -1e30;

// The lowest id among the greatest values; NaN is never selected; 0 if nothing exceeds -1e30.
template <typename N>
std::uint32_t ArgMax(std::span<const typename N::Storage> values) {
  std::uint32_t best_id = 0;
  double best = kNoCandidate;
  for (std::size_t id = 0; id < values.size(); ++id) {
    const double value = N::Load(values[id]);
    if (value > best ||  // false for NaN, and for a later equal value
        (DM_FAULT(kWrongTieRule) && value == best)) {
      best = value;
      best_id = static_cast<std::uint32_t>(id);
    }
  }
  return best_id;
}

// See src/backend/margins.h.
template <typename N>
double Margin(std::span<const typename N::Storage> values) {
  std::vector<double> row;
  for (const typename N::Storage& stored : values) row.push_back(N::Load(stored));
  return MarginOf(row);
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_ELEMENTWISE_H_
