#include <fmt/format.h>

#include <map>

#include "src/perf/dashboard/charts.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"
#include "src/perf/dashboard/tally.h"
#include "src/perf/dashboard/trend.h"

namespace draftmark {
namespace {

std::string StepCell(const DashboardData& data, const DashboardSeries& series) {
  if (series.segments.size() < 2) return "–";
  const DashboardPoint& first = series.points[series.segments.back().first];
  return fmt::format("{} <small>{}</small>", ChangeText(LastStep(series)),
                     DayText(data.runs[first.run].time));
}

// Where the newest point lies: outside of the band is what a look should be taken at.
std::string BandCell(const DashboardSeries& series) {
  const TrendSegment& segment = series.segments.back();
  const double value = series.points.back().value;
  std::string text = ChangeText(value / segment.level - 1);
  if (value > segment.high) return "<b class=v-slower>▲ " + text + "</b>";
  if (value < segment.low) return "<b class=v-faster>▼ " + text + "</b>";
  return text;
}

}  // namespace

std::string CasesSection(const DashboardData& data) {
  std::map<std::pair<std::size_t, std::string>, const DashboardVerdict*> verdicts;
  for (const std::size_t i : NewestVerdicts(data)) {
    const DashboardVerdict& verdict = data.verdicts[i];
    if (!verdict.metric.empty()) continue;
    verdicts.emplace(std::pair(verdict.testbed, verdict.case_id), &verdict);
  }
  std::string rows;
  for (std::size_t i = 0; i < data.series.size(); ++i) {
    const DashboardSeries& series = data.series[i];
    if (series.points.empty() || series.segments.empty()) continue;
    const auto verdict = verdicts.find(std::pair(series.testbed, series.case_id));
    const bool has_verdict = verdict != verdicts.end();
    const std::string word(has_verdict ? VerdictName(verdict->second->verdict) : "none");
    const std::string arch = HtmlText(data.testbeds[series.testbed].architecture);
    rows += fmt::format(
        "<tr data-a=\"{}\" data-v={}{}><td>{}<td>{}<td class=n>{}<td class=n>{}<td class=n>{}<td "
        "class=n>{}<td>{}<td>{}\n",
        arch, word, series.segments.size() > 1 ? " data-k=1" : "", arch,
        CaseLink(series.case_id, i), SecondsText(series.points.back().value), BandCell(series),
        StepCell(data, series), series.floor_share ? ShareText(*series.floor_share) : "–",
        has_verdict ? VerdictHtml(verdict->second->verdict) : "–", Sparkline(series));
  }
  if (rows.empty())
    return Section("cases", "All cases", "<p>No case has a time in the history.</p>");
  return Section(
      "cases", "All cases",
      "<p class=note>Lines are nights, oldest on the left; the band is what noise alone does "
      "(4 × 1.4826 × MAD between change points), a dashed line a change point.</p>"
      "<div class=\"scroll tall\" tabindex=0 role=region aria-label=\"Trends of all cases\"><table "
      "class=filtered><thead><tr><th>Arch<th>Case<th class=n>Newest<th class=n>From its level<th "
      "class=n>Last step"
      "<th class=n>Share of the floor<th>Verdict<th>Trend</tr></thead><tbody>\n" +
          rows + "</tbody></table></div>");
}

}  // namespace draftmark
