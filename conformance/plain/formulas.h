// Internal to conformance/plain: the formulas that the plain forward is made of.
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_FORMULAS_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_FORMULAS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "conformance/plain/mistakes.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark::plain {

// A result and, per element, the sum of the magnitudes of its terms.
struct Terms {
  std::vector<double> values, magnitude;
  std::vector<double> largest = {};  // magnitude of each element's largest term, where asked for
};

// Rows of `width` values, normed one by one: x / sqrt(mean(x^2) + epsilon) * weight (section 4.1).
// No weight: 1. `x_magnitude` is empty, or the sums of magnitudes that x came from.
Terms RmsNorm(std::span<const double> x, std::span<const double> x_magnitude, std::size_t width,
              std::span<const BFloat16> weight, double epsilon, double weight_offset = 0);

// Rotary embedding (section 4.3).
struct Rotation {
  struct Pair {
    std::size_t first, second;
    double frequency;
  };
  std::vector<Pair> pairs;
  double amplitude = 1;
  double direction = 1;
  bool float32_angles = true;

  // Turns each head of `head_dim` elements in `heads`. `magnitude` may be null, else it is as long
  // as `heads`.
  void Turn(std::span<double> heads, std::size_t head_dim, std::int64_t position,
            double* magnitude) const;
};
Rotation MakeRotation(const DrafterConfig& config, const std::set<Mistake>& mistakes,
                      bool float32_angles);

double Sigmoid(double x);
// The tie rule: the lowest index wins, NaN never, nothing above -1e30 gives 0 (section 5).
std::size_t ArgMax(std::span<const double> scores);
// The `count` highest values above -1e30 by (value descending, index ascending), padded with -1e30
// and index 0; `gap` is the last one minus the best that is left out, 0 if none is.
struct TopValues {
  std::vector<std::uint32_t> ids;
  std::vector<double> values;
  double gap = 0;
};
TopValues TopK(std::span<const double> scores, std::size_t count);

}  // namespace draftmark::plain

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_FORMULAS_H_
