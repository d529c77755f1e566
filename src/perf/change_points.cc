#include "src/perf/change_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <queue>

#include "src/base/check.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

// The sum of absolute deviations from the median of values that come one by one.
class DeviationSum {
 public:
  void Add(double value) {
    if (low_.empty() || value <= low_.top()) {
      low_.push(value);
      low_sum_ += value;
    } else {
      high_.push(value);
      high_sum_ += value;
    }
    if (low_.size() > high_.size() + 1) {
      Move(low_, low_sum_, high_, high_sum_);
    } else if (high_.size() > low_.size()) {
      Move(high_, high_sum_, low_, low_sum_);
    }
  }

  double Sum() const {
    const double middle = low_.size() > high_.size() ? low_.top() : 0;
    return high_sum_ - low_sum_ + middle;
  }

 private:
  template <typename From, typename To>
  static void Move(From& from, double& from_sum, To& to, double& to_sum) {
    const double value = from.top();
    from.pop();
    from_sum -= value;
    to.push(value);
    to_sum += value;
  }

  std::priority_queue<double> low_;  // as many as high_, or one more
  std::priority_queue<double, std::vector<double>, std::greater<>> high_;
  double low_sum_ = 0;
  double high_sum_ = 0;
};

double MedianOf(std::span<const double> values) {
  return Median(std::vector<double>(values.begin(), values.end()));
}

// Begins of the best segments, 0 first.
std::vector<std::size_t> BestSegments(std::span<const double> values, double gamma) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::size_t count = values.size();
  std::vector<double> best(count + 1, kNever);  // of the first i values, every segment counted
  std::vector<std::size_t> begin_of_last(count + 1, 0);
  best[0] = 0;
  for (std::size_t end = kShortestSegment; end <= count; ++end) {
    DeviationSum deviations;
    for (std::size_t begin = end; begin-- > 0;) {
      deviations.Add(values[begin]);
      if (end - begin < kShortestSegment || best[begin] == kNever) continue;
      const double cost = best[begin] + deviations.Sum() + gamma;
      if (cost <= best[end]) {  // the longer of equal segments
        best[end] = cost;
        begin_of_last[end] = begin;
      }
    }
  }
  std::vector<std::size_t> begins;
  for (std::size_t end = count; end > 0; end = begin_of_last[end]) {
    begins.push_back(begin_of_last[end]);
  }
  std::reverse(begins.begin(), begins.end());
  return begins;
}

std::vector<LevelChange> StepsBetween(std::span<const double> values,
                                      const std::vector<std::size_t>& begins) {
  std::vector<double> levels;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : values.size();
    levels.push_back(MedianOf(values.subspan(begins[i], end - begins[i])));
  }
  std::vector<LevelChange> changes;
  for (std::size_t i = 1; i < begins.size(); ++i) {
    changes.push_back({.first = begins[i],
                       .before = levels[i - 1],
                       .after = levels[i],
                       .step = levels[i] / levels[i - 1] - 1});
  }
  return changes;
}

}  // namespace

double MedianAbsoluteDeviation(std::span<const double> values) {
  const double middle = MedianOf(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  return Median(std::move(deviations));
}

double SigmaOfDifferences(std::span<const double> values) {
  if (values.size() < 2) return 0;
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) differences.push_back(values[i] - values[i - 1]);
  return kSigmaPerMad * MedianAbsoluteDeviation(differences) / std::numbers::sqrt2;
}

std::vector<LevelChange> FindChangePoints(std::span<const double> values, double penalty) {
  for (const double value : values) DM_CHECK(std::isfinite(value) && value > 0);
  if (values.size() < 2 * kShortestSegment) return {};
  // Where most nights are equal to the last digit sigma is 0; a cut must still cost something.
  constexpr double kLeastPenalty = 1e-9;
  const double gamma =
      std::max(penalty * SigmaOfDifferences(values) * std::log(static_cast<double>(values.size())),
               kLeastPenalty * MedianOf(values));
  std::vector<std::size_t> begins = BestSegments(values, gamma);
  while (true) {
    std::vector<LevelChange> changes = StepsBetween(values, begins);
    const auto smallest = std::min_element(changes.begin(), changes.end(),
                                           [](const LevelChange& one, const LevelChange& other) {
                                             return std::abs(one.step) < std::abs(other.step);
                                           });
    if (smallest == changes.end() || std::abs(smallest->step) >= kSmallestStep) return changes;
    begins.erase(begins.begin() + 1 + (smallest - changes.begin()));
  }
}

}  // namespace draftmark
