// How far the two best values of a row lie apart: the stage `margin`. Pure function, thread-safe.
#ifndef DRAFTMARK_SRC_BACKEND_MARGINS_H_
#define DRAFTMARK_SRC_BACKEND_MARGINS_H_

#include <cmath>
#include <span>

namespace draftmark {

// Best minus second-best value of a row (0 with fewer than two finite values).
inline double MarginOf(std::span<const double> row) {
  double best = -INFINITY;
  double second = -INFINITY;
  for (const double value : row) {
    if (value > best) {
      second = best;
      best = value;
    } else if (value > second) {
      second = value;
    }
  }
  return std::isfinite(second) ? best - second : 0.0;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_MARGINS_H_
