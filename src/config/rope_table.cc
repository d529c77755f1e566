#include "src/config/rope_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace draftmark {
namespace {

// Bends the frequencies of long wavelengths: pairs below `low` keep theirs, pairs above `high` are
// divided by the factor, between them a linear ramp.
void ApplyYarn(const RopeConfig& rope, double rotary_dim, std::vector<double>& frequency) {
  // The pair whose wavelength makes `rotations` turns over the original context length.
  const auto pair_of = [&](double rotations) {
    return rotary_dim *
           std::log(rope.original_max_position_embeddings / (2 * std::numbers::pi * rotations)) /
           (2 * std::log(rope.theta));
  };
  // gpt-oss keeps the fractional ends (`truncate: false` in its config).
  const double fast = pair_of(rope.beta_fast);
  const double slow = pair_of(rope.beta_slow);
  const double low = std::max(rope.truncate ? std::floor(fast) : fast, 0.0);
  const double high = std::min(rope.truncate ? std::ceil(slow) : slow, rotary_dim - 1);
  const double span = high == low ? 1e-3 : high - low;
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / span, 0.0, 1.0);
    frequency[i] = ramp * frequency[i] / rope.factor + (1 - ramp) * frequency[i];
  }
}

double YarnAmplitude(const RopeConfig& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  const auto scale = [&](double z) { return 1 + 0.1 * z * std::log(rope.factor); };
  if (rope.mscale && rope.mscale_all_dim) return scale(*rope.mscale) / scale(*rope.mscale_all_dim);
  return scale(1);
}

}  // namespace

StatusOr<RopeTable> MakeRopeTable(const RopeConfig& rope, std::uint64_t head_dim) {
  const auto rotary_dim = static_cast<std::uint64_t>(
      std::llround(static_cast<double>(head_dim) * rope.partial_rotary_factor));
  if (rotary_dim == 0 || rotary_dim % 2 != 0 || rotary_dim > head_dim) {
    return InvalidArgumentError(fmt::format(
        "rope: rotary width {} of head_dim {} must be even, above 0 and at most head_dim",
        rotary_dim, head_dim));
  }
  RopeTable table;
  table.frequency.resize(rotary_dim / 2);
  for (std::size_t i = 0; i < table.frequency.size(); ++i) {
    table.frequency[i] =
        std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim));
  }
  table.partner = (rope.pairing == RopePairing::kHalfOfRotary ? rotary_dim : head_dim) / 2;
  if (rope.type == "yarn") {
    ApplyYarn(rope, static_cast<double>(rotary_dim), table.frequency);
    table.amplitude = YarnAmplitude(rope);
  } else if (rope.attention_factor) {
    table.amplitude = *rope.attention_factor;
  }
  return table;
}

}  // namespace draftmark
