#include <fmt/format.h>

#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"
#include "src/perf/dashboard/tally.h"

namespace draftmark {
namespace {

constexpr std::size_t kMostRows = 300;  // the table of cases has the verdict of every case

std::string ChangeCell(const DashboardVerdict& verdict) {
  if (verdict.old_count && verdict.new_count) {
    return fmt::format("{}: <b>{} → {}</b>", HtmlText(verdict.metric),
                       BytesText(*verdict.old_count), BytesText(*verdict.new_count));
  }
  if (!verdict.ratio) return HtmlText(verdict.reason);
  std::string text = "<b>" + ChangeText(*verdict.ratio - 1) + "</b>";
  if (verdict.shift) {
    text += fmt::format(" <small>{} to {}</small>", ChangeText(verdict.shift->low - 1),
                        ChangeText(verdict.shift->high - 1));
  }
  if (!verdict.reason.empty()) text += "<br><small>" + HtmlText(verdict.reason) + "</small>";
  return text;
}

std::string CommitCell(const DashboardVerdict& verdict) {
  std::string text;
  if (!verdict.base_commit.empty()) {
    text = "<code>" + HtmlText(ShortCommit(verdict.base_commit)) + "</code> → ";
  }
  text += "<code>" + HtmlText(ShortCommit(verdict.commit)) + "</code>";
  std::string machine = verdict.driver.empty() ? "" : "driver " + verdict.driver;
  if (!verdict.clocks.empty()) machine += (machine.empty() ? "" : ", ") + verdict.clocks;
  if (!machine.empty()) text += "<br><small>" + HtmlText(machine) + "</small>";
  return text;
}

std::string Row(const DashboardData& data, const DashboardVerdict& verdict, std::size_t series) {
  const DashboardTestbed& bed = data.testbeds[verdict.testbed];
  return fmt::format(
      "<tr data-a=\"{}\" data-v={}><td>{}<td>{}<td>{}<td>{}<td>{}<td class=n>{}<td "
      "class=n>{}<td>{}<td>{}"
      "<td>{}</tr>\n",
      HtmlText(bed.architecture), VerdictName(verdict.verdict), TimeText(verdict.time),
      HtmlText(bed.architecture), VerdictHtml(verdict.verdict), CaseLink(verdict.case_id, series),
      ChangeCell(verdict), verdict.p ? fmt::format("{:.2g}", *verdict.p) : "–",
      verdict.detectable && *verdict.detectable > 0 ? ShareText(*verdict.detectable) : "–",
      HtmlText(verdict.source), CommitCell(verdict), ReproduceHtml(verdict.reproduce));
}

}  // namespace

std::string VerdictsSection(const DashboardData& data) {
  const SeriesIndex index(data);
  const std::vector<std::size_t> newest = NewestVerdicts(data);
  if (newest.empty()) {
    return Section("verdicts", "Newest verdicts", "<p>No verdict is in the history.</p>");
  }
  std::string rows;
  std::size_t shown = 0;
  for (const std::size_t i : newest) {
    if (++shown > kMostRows) break;
    const DashboardVerdict& verdict = data.verdicts[i];
    rows += Row(data, verdict, index.Find(verdict.testbed, verdict.case_id));
  }
  std::string body =
      "<div class=scroll tabindex=0 role=region aria-label=\"Newest verdicts\"><table "
      "class=filtered><thead><tr><th>When, UTC<th>Arch<th>Verdict<th>Case<th>Change, 99.8 % "
      "interval<th class=n>p<th class=n>Detects<th>Source<th>Commit, driver, "
      "clocks<th></tr></thead><tbody>\n" +
      rows + "</tbody></table></div>";
  if (newest.size() > kMostRows) {
    body += fmt::format(
        "<p class=note>{} older verdicts are in the table of cases and in "
        "verdicts.csv.</p>",
        newest.size() - kMostRows);
  }
  return Section("verdicts", "Newest verdicts", body);
}

}  // namespace draftmark
