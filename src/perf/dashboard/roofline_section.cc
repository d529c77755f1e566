#include "src/perf/dashboard/charts.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"

namespace draftmark {

std::string RooflineSection(const DashboardData& data) {
  std::string body;
  for (std::size_t i = 0; i < data.testbeds.size(); ++i) {
    const std::string roofline = RooflineChart(data, i);
    const std::string shares = FloorShareChart(data, i);
    if (roofline.empty() && shares.empty()) continue;
    body += "<h3>" + HtmlText(TestbedText(data.testbeds[i])) + "</h3><div class=pair>";
    if (!roofline.empty()) {
      body += "<figure>" + roofline +
              "<figcaption>What each case reaches under the roofs of its machine.</figcaption>"
              "</figure>";
    }
    if (!shares.empty()) {
      body += "<figure>" + shares +
              "<figcaption>Share of the floor: the least time the bytes allow, over the newest "
              "time.</figcaption></figure>";
    }
    body += "</div>";
  }
  if (body.empty()) body = "<p>No case has a floor in the history.</p>";
  return Section("roofline", "How near to the floor", body);
}

}  // namespace draftmark
