#include <fmt/format.h>

#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"

namespace draftmark {
namespace {

std::string PerThousand(double events, std::size_t comparisons) {
  return fmt::format("{:.2g}", events * 1000 / static_cast<double>(comparisons));
}

std::string SummaryRow(const DashboardData& data, const AaQuality& quality) {
  const std::size_t n = quality.comparisons;
  return fmt::format("<tr><td>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td>{}\n",
                     HtmlText(TestbedText(data.testbeds[quality.testbed])), n, quality.false_alarms,
                     n > 0 ? PerThousand(static_cast<double>(quality.false_alarms), n) : "–",
                     n > 0 ? PerThousand(PoissonUpperBound(quality.false_alarms), n) : "–",
                     quality.advisory ? "<b class=v-unclear>? advisory</b>"
                     : n == 0 ? "<b class=v-invalid>✕ not known: no comparison is valid</b>"
                              : "✓ fails builds");
}

std::string CaseRows(const DashboardData& data, const AaQuality& quality,
                     const SeriesIndex& index) {
  const std::string arch = HtmlText(data.testbeds[quality.testbed].architecture);
  std::string rows;
  for (const AaQuality::Case& one : quality.cases) {
    rows += fmt::format(
        "<tr data-a=\"{0}\"><td>{0}<td>{1}<td class=n>{2}<td class=n>{3}<td class=n>{4}<td "
        "class=n>{5}\n",
        arch, CaseLink(one.case_id, index.Find(quality.testbed, one.case_id)), one.comparisons,
        one.false_alarms > 0 ? fmt::format("<b class=v-slower>{}</b>", one.false_alarms) : "0",
        one.comparisons > 0 ? ShareText(one.spread) : "not known",
        one.comparisons == 0 ? "not known"
        : one.detectable > 0 ? ShareText(one.detectable)
                             : "nothing");
  }
  return rows;
}

}  // namespace

std::string AaSection(const DashboardData& data) {
  if (data.aa.empty()) {
    return Section("aa", "Can the alarms be trusted?", "<p>No A/A run is in the history.</p>");
  }
  const SeriesIndex index(data);
  std::string summary;
  std::string cases;
  for (const AaQuality& quality : data.aa) {
    summary += SummaryRow(data, quality);
    cases += CaseRows(data, quality, index);
  }
  return Section(
      "aa", "Can the alarms be trusted?",
      "<p class=note>A/A runs compare a build with itself: whatever they call slower is a false "
      "alarm. The bound holds with 95 %. More than 2 per 1,000 on an architecture in 30 days make "
      "its gate advisory.</p><div class=scroll><table><thead><tr><th>Testbed"
      "<th class=n>Comparisons<th class=n>False alarms<th class=n>Per 1,000<th class=n>At most, "
      "per "
      "1,000<th>Gate</tr></thead>"
      "<tbody>" +
          summary +
          "</tbody></table></div><details><summary>What each case can show</summary><div "
          "class=\"scroll tall\"><table class=filtered><thead><tr><th>Arch<th>Case<th class=n>"
          "Comparisons<th class=n>False alarms<th class=n>Spread<th class=n>Detectable shift, 95 % "
          "power</tr></thead><tbody>" +
          cases + "</tbody></table></div></details>");
}

}  // namespace draftmark
