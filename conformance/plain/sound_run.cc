#include "conformance/plain/sound_run.h"

#include <algorithm>
#include <cmath>

namespace draftmark::plain {
namespace {

SoundError ErrorOf(const std::vector<double>& exact, const std::vector<double>& rounded) {
  SoundError error;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double d = std::abs(rounded[i] - exact[i]);
    error.largest = std::max(error.largest, d);
    difference += d * d;
    norm += exact[i] * exact[i];
  }
  error.relative_l2 = norm > 0 ? std::sqrt(difference / norm) : 0;
  return error;
}

}  // namespace

StatusOr<SoundErrors> MeasureSoundRun(const DrafterConfig& config, const DrafterWeights& weights,
                                      const Bands& bands, ProductCache* products) {
  Recorder exact(Rounding::kNothing);
  Recorder rounded(Rounding::kBf16);
  DM_RETURN_IF_ERROR(Run(config, weights, bands, {.float32_angles = false}, exact));
  DM_RETURN_IF_ERROR(Run(config, weights, bands, {.products = products}, rounded));
  SoundErrors errors;
  for (const auto& [id, values] : exact.values()) {
    if (IsBf16Stage(id.stage)) errors[id] = ErrorOf(values, rounded.values().at(id));
  }
  return errors;
}

}  // namespace draftmark::plain
