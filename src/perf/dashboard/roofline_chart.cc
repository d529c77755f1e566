#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/perf/dashboard/charts.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"

namespace draftmark {
namespace {

constexpr int kWidth = 720;
constexpr int kHeight = 340;
constexpr int kLeft = 64;
constexpr int kRight = 700;
constexpr int kTop = 16;
constexpr int kBottom = 290;

struct Dot {
  std::size_t series = 0;
  double intensity = 0;  // FLOPs per byte
  double rate = 0;       // FLOPs per second
  std::optional<double> share = {};
};

// Decades from the one below the smallest to the one above the largest.
struct LogAxis {
  int first = 0;
  int last = 1;
  int from = 0;  // in the picture
  int to = 0;

  double At(double value) const {
    return from + (std::log10(value) - first) / (last - first) * (to - from);
  }
};

LogAxis AxisOf(double smallest, double largest, int from, int to) {
  LogAxis axis{.from = from, .to = to};
  axis.first = static_cast<int>(std::floor(std::log10(smallest)));
  axis.last = std::max(static_cast<int>(std::ceil(std::log10(largest))), axis.first + 1);
  return axis;
}

std::vector<Dot> DotsOf(const DashboardData& data, std::size_t testbed) {
  std::vector<Dot> dots;
  for (std::size_t i = 0; i < data.series.size(); ++i) {
    const DashboardSeries& series = data.series[i];
    if (series.testbed != testbed || series.points.empty()) continue;
    const double bytes = series.bytes_per_second.value_or(0);
    const double flops = series.flops_per_second.value_or(0);
    if (!(bytes > 0) || !(flops > 0) || !std::isfinite(bytes) || !std::isfinite(flops)) continue;
    dots.push_back({i, flops / bytes, flops, series.floor_share});
  }
  return dots;
}

// 1e12 as "10^12 FLOP/s", by words that a screen reader reads: "1 T".
std::string DecadeText(int decade) {
  constexpr const char* kNames[] = {"", "k", "M", "G", "T", "P", "E"};
  const int group = decade < 0 ? 0 : std::min(decade / 3, 6);
  return fmt::format("{:g}{}{}", std::pow(10.0, decade - 3 * group), group > 0 ? " " : "",
                     kNames[group]);
}

std::string Axes(const LogAxis& x, const LogAxis& y) {
  std::string svg;
  for (int decade = x.first; decade <= x.last; ++decade) {
    const double at = x.At(std::pow(10.0, decade));
    svg += fmt::format(
        "<path class=g d=\"M{0:.1f} {1}V{2}\"/><text x={0:.1f} y={3} "
        "text-anchor=middle>{4}</text>",
        at, kTop, kBottom, kBottom + 16, DecadeText(decade));
  }
  for (int decade = y.first; decade <= y.last; ++decade) {
    const double at = y.At(std::pow(10.0, decade));
    svg += fmt::format(
        "<path class=g d=\"M{0} {1:.1f}H{2}\"/><text x={3} y={4:.1f} "
        "text-anchor=end>{5}</text>",
        kLeft, at, kRight, kLeft - 6, at + 4, DecadeText(decade));
  }
  svg += fmt::format("<text x={} y={} text-anchor=middle>FLOP per byte</text>",
                     (kLeft + kRight) / 2, kBottom + 36);
  svg += fmt::format(
      "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=middle>FLOP per "
      "second</text>",
      (kTop + kBottom) / 2);
  return svg;
}

// From the left edge along the memory's roof to where the arithmetic's begins, if there is one.
std::string Roofs(const DashboardTestbed& testbed, const LogAxis& x, const LogAxis& y) {
  const double bandwidth = *testbed.copy_bandwidth;
  const double first = std::pow(10.0, x.first);
  const double last = std::pow(10.0, x.last);
  const double ridge = testbed.peak_flops ? *testbed.peak_flops / bandwidth : last;
  const double end = std::clamp(ridge, first, last);
  std::string path = fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x.At(first),
                                 y.At(first * bandwidth), x.At(end), y.At(end * bandwidth));
  if (testbed.peak_flops && end < last) path += fmt::format("H{:.1f}", x.At(last));
  std::string svg = fmt::format("<path class=roof d=\"{}\"/>", path);
  const double label = std::sqrt(first * end);
  svg += fmt::format(
      "<text class=rooft x={:.1f} y={:.1f} text-anchor=end>copy bandwidth {:.3g} "
      "TB/s</text>",
      x.At(label) - 6, y.At(label * bandwidth) - 4, bandwidth / 1e12);
  if (testbed.peak_flops && end < last) {
    svg += fmt::format(
        "<text class=rooft x={} y={:.1f} text-anchor=end>large matrix product "
        "{:.4g} TFLOP/s</text>",
        kRight - 4, y.At(*testbed.peak_flops) - 5, *testbed.peak_flops / 1e12);
  }
  return svg;
}

}  // namespace

std::string RooflineChart(const DashboardData& data, std::size_t testbed) {
  const std::vector<Dot> dots = DotsOf(data, testbed);
  const DashboardTestbed& bed = data.testbeds[testbed];
  if (dots.empty() || !bed.copy_bandwidth || !(*bed.copy_bandwidth > 0)) return "";
  const auto [least, most] =
      std::minmax_element(dots.begin(), dots.end(),
                          [](const Dot& a, const Dot& b) { return a.intensity < b.intensity; });
  // Far enough to the right for the arithmetic's roof to be seen as one.
  const double ridge = bed.peak_flops ? *bed.peak_flops / *bed.copy_bandwidth : 0;
  const LogAxis x =
      AxisOf(least->intensity, std::max(most->intensity * 1.01, 2 * ridge), kLeft, kRight);
  double low = std::pow(10.0, x.first) * *bed.copy_bandwidth;
  double high = std::pow(10.0, x.last) * *bed.copy_bandwidth;
  if (bed.peak_flops) high = std::min(high, *bed.peak_flops);
  for (const Dot& dot : dots) {
    low = std::min(low, dot.rate);
    high = std::max(high, dot.rate);
  }
  const LogAxis y = AxisOf(low, high, kBottom, kTop);
  std::string svg =
      fmt::format("<svg class=chart role=img viewBox=\"0 0 {} {}\" aria-label=\"Roofline of {}\">",
                  kWidth, kHeight, HtmlText(bed.architecture));
  svg += Axes(x, y) + Roofs(bed, x, y);
  for (const Dot& dot : dots) {
    const std::string& id = data.series[dot.series].case_id;
    svg += fmt::format(
        "<circle class=\"dot pick\" data-s={} cx={:.1f} cy={:.1f} r=4><title>{}: {} "
        "FLOP/s{}</title></circle>",
        dot.series, x.At(dot.intensity), y.At(dot.rate), HtmlText(id),
        fmt::format("{:.4g}", dot.rate),
        dot.share ? ", " + ShareText(*dot.share) + " of the floor" : "");
  }
  return svg + "</svg>";
}

std::string FloorShareChart(const DashboardData& data, std::size_t testbed) {
  std::map<std::string, std::vector<std::size_t>> operations;
  for (std::size_t i = 0; i < data.series.size(); ++i) {
    const DashboardSeries& series = data.series[i];
    if (series.testbed != testbed || !series.floor_share) continue;
    operations[OperationName(series.case_id)].push_back(i);
  }
  if (operations.empty()) return "";
  constexpr int kNames = 150;
  constexpr int kRow = 20;
  const int bottom = static_cast<int>(operations.size()) * kRow + 8;
  const auto at = [&](double share) {
    return kNames + std::clamp(share, 0.0, 1.05) * (kRight - kNames) / 1.05;
  };
  std::string svg = fmt::format(
      "<svg class=chart role=img viewBox=\"0 0 {} {}\" aria-label=\"Share of the floor by "
      "operation on {}\">",
      kWidth, bottom + 26, HtmlText(data.testbeds[testbed].architecture));
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    svg += fmt::format(
        "<path class={0} d=\"M{1:.1f} 4V{2}\"/><text x={1:.1f} y={3} "
        "text-anchor=middle>{4} %</text>",
        tenth == 10 ? "roof" : "g", at(tenth / 10.0), bottom, bottom + 18, tenth * 10);
  }
  int row = 0;
  for (const auto& [operation, cases] : operations) {
    const int middle = row++ * kRow + kRow / 2 + 4;
    svg += fmt::format("<text x={} y={} text-anchor=end>{}</text>", kNames - 8, middle + 4,
                       HtmlText(operation.substr(0, 24)));
    for (const std::size_t i : cases) {
      const double share = *data.series[i].floor_share;
      svg += fmt::format(
          "<circle class=\"dot pick\" data-s={} cx={:.1f} cy={} r=4><title>{}: {}</title></circle>",
          i, at(share), middle, HtmlText(data.series[i].case_id), ShareText(share));
    }
  }
  return svg + "</svg>";
}

}  // namespace draftmark
