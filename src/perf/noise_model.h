// The noise models B to F of spec/statistics.md, for simulations: sample = level x (1 + offset of
// its run) x (1 + noise within the run), some samples lengthened.
//
//   NoiseSource source(seed);
//   const std::vector<double> runs = source.RunValues(kNoiseModels[0], 10, /*level=*/1.03);
//
// Seeded and the same on every machine with IEEE arithmetic and the same libm. One thread each.
#ifndef DRAFTMARK_SRC_PERF_NOISE_MODEL_H_
#define DRAFTMARK_SRC_PERF_NOISE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace draftmark {

struct NoiseModel {
  char name = 'B';
  double run_offset = 0;        // standard deviation, a share of the level
  double within = 0.01;         // standard deviation within a run
  double tail_probability = 0;  // of a sample that is lengthened
  double tail_mean = 0.1;       // by an exponential share of this mean
  double upper_mode = 0;        // half of the samples are longer by this share
  double correlation = 0;       // of neighbouring samples' noise within a run
};

inline constexpr std::array<NoiseModel, 5> kNoiseModels = {{
    {.name = 'B', .run_offset = 0.003, .tail_probability = 0.02},
    {.name = 'C', .run_offset = 0.005, .tail_probability = 0.05, .tail_mean = 0.2},
    {.name = 'D', .run_offset = 0.01, .tail_probability = 0.05, .tail_mean = 0.2},
    {.name = 'E',
     .run_offset = 0.005,
     .within = 0.005,
     .tail_probability = 0.02,
     .upper_mode = 0.04},
    {.name = 'F', .run_offset = 0.005, .tail_probability = 0.02, .correlation = 0.9},
}};

inline constexpr std::size_t kSimulatedSamples = 30;  // a run's

class NoiseSource {
 public:
  explicit NoiseSource(std::uint64_t seed) : seed_(seed) {}

  std::vector<double> Run(const NoiseModel& model, double level);
  // One value each of `runs` runs, by run_value.h.
  std::vector<double> RunValues(const NoiseModel& model, std::size_t runs, double level);

 private:
  double Uniform();  // in (0, 1)
  double Normal();

  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
  double spare_ = 0;  // the second normal of a pair
  bool has_spare_ = false;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_NOISE_MODEL_H_
