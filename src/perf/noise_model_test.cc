#include "src/perf/noise_model.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.mean += value / static_cast<double>(values.size());
  for (const double value : values) {
    moments.deviation += (value - moments.mean) * (value - moments.mean);
  }
  moments.deviation = std::sqrt(moments.deviation / static_cast<double>(values.size()));
  return moments;
}

// First samples of many runs: offset and noise together.
Moments FirstSamples(const NoiseModel& model) {
  NoiseSource source(3);
  std::vector<double> values;
  values.reserve(20000);
  for (int i = 0; i < 20000; ++i) values.push_back(source.Run(model, 2).front());
  return MomentsOf(values);
}

TEST(NoiseModelTest, OffsetAndNoise) {
  const Moments moments = FirstSamples({.run_offset = 0.03, .within = 0.04});
  EXPECT_NEAR(moments.mean, 2, 0.003);
  EXPECT_NEAR(moments.deviation, 0.1, 0.002);
}

TEST(NoiseModelTest, TailsAndModes) {
  const Moments tails = FirstSamples({.within = 0, .tail_probability = 0.5, .tail_mean = 0.1});
  EXPECT_NEAR(tails.mean, 2.1, 0.005);
  EXPECT_NEAR(tails.deviation, 0.2 * std::sqrt(0.75), 0.005);
  const Moments modes = FirstSamples({.within = 0, .upper_mode = 0.04});
  EXPECT_NEAR(modes.mean, 2.04, 0.001);
  EXPECT_NEAR(modes.deviation, 0.04, 0.001);
}

TEST(NoiseModelTest, Correlation) {
  NoiseSource source(4);
  double product = 0;
  double square = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::vector<double> run = source.Run({.within = 0.01, .correlation = 0.9}, 1);
    product += (run[10] - 1) * (run[11] - 1);
    square += (run[10] - 1) * (run[10] - 1);
  }
  EXPECT_NEAR(product / square, 0.9, 0.02);
  EXPECT_NEAR(std::sqrt(square / 20000), 0.01, 0.0003);
}

TEST(NoiseModelTest, Seeded) {
  NoiseSource first(5);
  NoiseSource second(5);
  NoiseSource third(6);
  const std::vector<double> values = first.RunValues(kNoiseModels[1], 10, 1);
  EXPECT_EQ(values, second.RunValues(kNoiseModels[1], 10, 1));
  EXPECT_NE(values, third.RunValues(kNoiseModels[1], 10, 1));
  EXPECT_NE(values, first.RunValues(kNoiseModels[1], 10, 1));
}

}  // namespace
}  // namespace draftmark
