#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "src/base/counter_hash.h"
#include "src/perf/dashboard/charts.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"

namespace draftmark {
namespace {

constexpr double kWidth = 1240;  // as wide as the page, so that letters keep their size
constexpr int kBar = 26;
constexpr double kThinnest = 3;        // thinner fields are drawn as one
constexpr double kLetter = 7;          // width of one at page.css's font size
constexpr std::uint64_t kColours = 8;  // classes f0 to f7 of page.css

struct Segment {
  std::string name;
  std::uint64_t bytes = 0;
  bool has_grown = false;
};

// The largest first; what would be too thin to see together at the end.
std::vector<Segment> SegmentsOfBar(const std::vector<const DashboardCount*>& fields, double sum) {
  std::vector<Segment> segments;
  Segment rest;
  std::size_t others = 0;
  for (const DashboardCount* field : fields) {
    const bool has_grown = field->recorded && field->value > *field->recorded;
    if (static_cast<double>(field->value) / sum * kWidth >= kThinnest) {
      segments.push_back({field->field, field->value, has_grown});
    } else {
      rest.bytes += field->value;
      rest.has_grown = rest.has_grown || has_grown;
      ++others;
    }
  }
  std::stable_sort(segments.begin(), segments.end(),
                   [](const Segment& a, const Segment& b) { return a.bytes > b.bytes; });
  rest.name = fmt::format("{} smaller fields", others);
  if (others > 0) segments.push_back(rest);
  return segments;
}

}  // namespace

std::string StackedBar(const std::vector<const DashboardCount*>& fields, std::uint64_t largest) {
  double sum = 0;
  for (const DashboardCount* field : fields) sum += static_cast<double>(field->value);
  if (!(sum > 0)) return "";
  std::string svg = fmt::format(
      "<svg class=\"chart bar\" role=img viewBox=\"0 0 {} {}\" aria-label=\"{} bytes in {} "
      "fields\">",
      kWidth, kBar + 8, BytesText(static_cast<std::uint64_t>(sum)), fields.size());
  double left = 0;
  std::uint64_t colour = kColours;
  for (const Segment& segment : SegmentsOfBar(fields, sum)) {
    const double width = static_cast<double>(segment.bytes) / sum * kWidth;
    const std::string name = HtmlText(segment.name);
    // A field has its colour in every bar, unless its neighbour has the same.
    const std::uint64_t own = SeedOf(segment.name) % kColours;
    colour = own == colour ? (own + 1) % kColours : own;
    svg += fmt::format(
        "<g><title>{}: {} bytes, {}{}</title><rect class=\"f{}{}\" x={:.1f} y=0 "
        "width={:.1f} height={}></rect>",
        name, BytesText(segment.bytes), ShareText(static_cast<double>(segment.bytes) / sum),
        segment.has_grown ? ", grown" : "", colour, segment.has_grown ? " grown" : "", left, width,
        kBar);
    const double letters = static_cast<double>(segment.name.size()) * kLetter;
    if (letters + 8 < width) {
      svg += fmt::format("<text class=fname x={:.1f} y=17>{}</text>", left + 4, name);
    }
    svg += "</g>";
    left += width;
  }
  const double share = largest > 0 ? sum / static_cast<double>(largest) : 1;
  svg += fmt::format(
      "<rect class=total x=0 y={} width={:.1f} height=4><title>{} of the largest "
      "configuration</title></rect>",
      kBar + 3, std::max(1.0, std::min(share, 1.0) * kWidth), ShareText(share));
  return svg + "</svg>";
}

}  // namespace draftmark
