#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/perf/dashboard/charts.h"

namespace draftmark {
namespace {

constexpr int kWidth = 240;
constexpr int kHeight = 40;
constexpr int kMargin = 3;
constexpr std::size_t kSteps = 60;  // more cannot be told apart at this size

struct Scale {
  double low = 0;
  double high = 1;
  std::size_t count = 1;

  long X(double at) const {
    return std::lround(at / static_cast<double>(std::max<std::size_t>(count, 2) - 1) * kWidth);
  }
  long Y(double value) const {
    return std::lround(kMargin + (high - value) / (high - low) * (kHeight - 2 * kMargin));
  }
};

Scale ScaleOf(const DashboardSeries& series) {
  Scale scale{.low = series.points.front().value,
              .high = series.points.front().value,
              .count = series.points.size()};
  for (const DashboardPoint& point : series.points) {
    scale.low = std::min(scale.low, point.value);
    scale.high = std::max(scale.high, point.value);
  }
  for (const TrendSegment& segment : series.segments) {
    scale.low = std::min(scale.low, segment.low);
    scale.high = std::max(scale.high, segment.high);
  }
  if (!(scale.high > scale.low)) scale.high = scale.low * 1.01;
  return scale;
}

// A mean for each step; the last point stands alone, since it is the news.
std::string Line(const DashboardSeries& series, const Scale& scale) {
  const std::size_t count = series.points.size();
  const std::size_t width = (count + kSteps - 1) / kSteps;
  std::string path;
  long last_x = 0;
  long last_y = 0;
  const auto to = [&](double at, double value) {
    const long x = scale.X(at);
    const long y = scale.Y(value);
    path +=
        path.empty() ? fmt::format("M{} {}l", x, y) : fmt::format("{} {} ", x - last_x, y - last_y);
    last_x = x;
    last_y = y;
  };
  for (std::size_t begin = 0; begin + 1 < count; begin += width) {
    const std::size_t end = std::min(begin + width, count - 1);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += series.points[i].value;
    to(static_cast<double>(begin + end - 1) / 2, sum / static_cast<double>(end - begin));
  }
  to(static_cast<double>(count - 1), series.points.back().value);
  if (path.ends_with(' ')) path.pop_back();
  if (path.ends_with('l')) path += "0 0";
  return path;
}

}  // namespace

std::string Sparkline(const DashboardSeries& series) {
  if (series.points.empty()) return "";
  const Scale scale = ScaleOf(series);
  std::string svg =
      fmt::format("<svg class=sp aria-hidden=true viewBox=\"0 0 {} {}\">", kWidth, kHeight);
  std::string bands;
  std::string changes;
  for (std::size_t i = 0; i < series.segments.size(); ++i) {
    const TrendSegment& segment = series.segments[i];
    const bool is_last = i + 1 == series.segments.size();
    const std::size_t end = is_last ? series.points.size() - 1 : series.segments[i + 1].first;
    const long left = scale.X(static_cast<double>(segment.first));
    const long top = scale.Y(segment.high);
    bands += fmt::format("M{} {}H{}V{}H{}z", left, top, scale.X(static_cast<double>(end)),
                         scale.Y(segment.low), left);
    if (i > 0) changes += fmt::format("M{} 0V{}", left, kHeight);
  }
  svg += fmt::format("<path class=b d=\"{}\"/>", bands);
  if (!changes.empty()) svg += fmt::format("<path class=c d=\"{}\"/>", changes);
  svg += fmt::format("<path class=l d=\"{}\"/>", Line(series, scale));
  return svg + "</svg>";
}

std::string OperationName(const std::string& case_id) {
  const std::size_t slash = case_id.find('/');
  if (case_id.starts_with("op/")) return case_id.substr(3, case_id.find('/', 3) - 3);
  return case_id.substr(0, slash);
}

}  // namespace draftmark
