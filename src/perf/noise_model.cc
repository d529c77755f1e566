#include "src/perf/noise_model.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "src/base/counter_hash.h"
#include "src/perf/run_value.h"

namespace draftmark {

double NoiseSource::Uniform() { return UniformAt(seed_, counter_++) + 0x1p-54; }

double NoiseSource::Normal() {
  if (std::exchange(has_spare_, false)) return spare_;
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  const double angle = 2 * std::numbers::pi * Uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::vector<double> NoiseSource::Run(const NoiseModel& model, double level) {
  const double run_level = level * (1 + model.run_offset * Normal());
  const double fresh = std::sqrt(1 - model.correlation * model.correlation);
  double noise = Normal();
  std::vector<double> samples;
  samples.reserve(kSimulatedSamples);
  for (std::size_t i = 0; i < kSimulatedSamples; ++i) {
    if (i > 0) noise = model.correlation * noise + fresh * Normal();
    double sample = run_level * (1 + model.within * noise);
    if (model.upper_mode > 0 && Uniform() < 0.5) sample *= 1 + model.upper_mode;
    if (Uniform() < model.tail_probability) sample *= 1 - model.tail_mean * std::log(Uniform());
    samples.push_back(sample);
  }
  return samples;
}

std::vector<double> NoiseSource::RunValues(const NoiseModel& model, std::size_t runs,
                                           double level) {
  std::vector<double> values;
  values.reserve(runs);
  for (std::size_t i = 0; i < runs; ++i) values.push_back(RunValueOf(Run(model, level)).value);
  return values;
}

}  // namespace draftmark
