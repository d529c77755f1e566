// For tests of small floating-point formats: a slow rounding that is obviously right, and the
// values where a fast one may be wrong.
//
// Both work on the ascending list of a format's non-negative values, with one virtual value after
// the largest finite one: what the next code would be if the exponent went on. Rounding to it is
// overflow. All these values, and the midpoints between neighbours, are exact in float64.
#ifndef DRAFTMARK_SRC_TENSOR_ROUNDING_POINTS_H_
#define DRAFTMARK_SRC_TENSOR_ROUNDING_POINTS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace draftmark {

// The values of codes 0, 1, ..., largest_finite, then the virtual one.
template <typename Decode>
std::vector<double> Magnitudes(std::uint32_t largest_finite, Decode&& decode) {
  std::vector<double> values;
  for (std::uint32_t code = 0; code <= largest_finite; ++code) values.push_back(decode(code));
  // The last two codes of every format here have the same exponent, so the step goes on.
  values.push_back(2 * values[largest_finite] - values[largest_finite - 1]);
  return values;
}

// The code nearest to |x|, ties to the even code, by comparison with the exact midpoint; the index
// of the virtual value for overflow. `x` is no NaN.
inline std::uint32_t SlowRound(std::span<const double> magnitudes, double x) {
  const double magnitude = std::fabs(x);
  const auto above = std::upper_bound(magnitudes.begin(), magnitudes.end(), magnitude);
  if (above == magnitudes.end()) return static_cast<std::uint32_t>(magnitudes.size() - 1);
  const auto upper = static_cast<std::uint32_t>(above - magnitudes.begin());
  const std::uint32_t lower = upper - 1;  // magnitudes[0] is 0, so there is one
  const double midpoint = magnitudes[lower] + (magnitudes[upper] - magnitudes[lower]) / 2;
  if (magnitude < midpoint) return lower;
  if (magnitude > midpoint) return upper;
  return lower % 2 == 0 ? lower : upper;
}

// Every value and every midpoint of the format with their neighbours in T (float or double), both
// signs, and the landmarks of T itself: subnormals, the largest values, infinity. No NaN.
template <typename T>
std::vector<T> RoundingPoints(std::span<const double> magnitudes) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> points = {
      T{0},          Limits::denorm_min(),  Limits::min(),
      Limits::max(), Limits::infinity(),    std::nextafter(Limits::min(), T{0}),
      T(1e-38),      T(3.4028235677973e38), T(1e-30)};
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    std::vector<double> centres = {magnitudes[i]};
    if (i + 1 < magnitudes.size()) centres.push_back((magnitudes[i] + magnitudes[i + 1]) / 2);
    for (const double centre : centres) {
      const T point = static_cast<T>(centre);
      points.push_back(point);
      points.push_back(std::nextafter(point, Limits::infinity()));
      points.push_back(std::nextafter(point, -Limits::infinity()));
      if constexpr (sizeof(T) == 8) {
        // Where a detour over float32 would lose the side of the midpoint, or round twice.
        const auto single = static_cast<float>(centre);
        for (const float goal : {0.0f, std::numeric_limits<float>::infinity()}) {
          const double next = std::nextafter(single, goal);
          const double half = single + (next - single) / 2;
          points.insert(points.end(), {next, half, std::nextafter(half, 0.0),
                                       std::nextafter(half, Limits::infinity())});
        }
      }
    }
  }
  std::erase_if(points, [](T point) { return std::isnan(point); });
  const std::size_t count = points.size();
  for (std::size_t i = 0; i < count; ++i) points.push_back(-points[i]);
  return points;
}

// Quiet and signalling NaNs of both signs with several payloads.
inline std::vector<double> DoubleNans() {
  std::vector<double> nans;
  for (const std::uint64_t payload :
       {0x8000000000000ull, 0x8000000000001ull, 0xFFFFFFFFFFFFFull, 0x4000000000000ull, 0x1ull,
        0xC000000000000ull, 0x2000000000000ull}) {
    nans.push_back(std::bit_cast<double>(0x7FF0000000000000ull | payload));
    nans.push_back(std::bit_cast<double>(0xFFF0000000000000ull | payload));
  }
  return nans;
}
inline std::vector<float> FloatNans() {
  std::vector<float> nans;
  for (const std::uint32_t payload : {0x400000u, 0x400001u, 0x7FFFFFu, 0x200000u, 0x1u, 0x10000u}) {
    nans.push_back(std::bit_cast<float>(0x7F800000u | payload));
    nans.push_back(std::bit_cast<float>(0xFF800000u | payload));
  }
  return nans;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_ROUNDING_POINTS_H_
