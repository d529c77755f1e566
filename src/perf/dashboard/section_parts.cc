#include "src/perf/dashboard/section_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"

namespace draftmark {
namespace {

// What git and a shell take as it is; anything else is no commit, and is only shown.
bool IsCommit(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

SeriesIndex::SeriesIndex(const DashboardData& data) {
  for (std::size_t i = 0; i < data.series.size(); ++i) {
    at_.emplace(std::pair(data.series[i].testbed, data.series[i].case_id), i);
  }
}

std::size_t SeriesIndex::Find(std::size_t testbed, const std::string& case_id) const {
  const auto found = at_.find(std::pair(testbed, case_id));
  return found == at_.end() ? kNoSeries : found->second;
}

std::string TestbedText(const DashboardTestbed& testbed) {
  std::string text = testbed.architecture;
  if (!testbed.gpu.empty()) text += ", " + testbed.gpu;
  if (!testbed.clocks_policy.empty()) text += ", " + testbed.clocks_policy + " clocks";
  return text;
}

std::string CaseLink(const std::string& case_id, std::size_t series) {
  std::string name = "<bdi>" + HtmlText(case_id) + "</bdi>";
  if (series == kNoSeries) return name;
  return fmt::format("<a class=pick data-s={} href=\"#trend\">{}</a>", series, name);
}

std::string VerdictHtml(Verdict verdict) {
  return fmt::format("<b class=v-{0}>{1} {0}</b>", VerdictName(verdict), VerdictSign(verdict));
}

std::string ReproduceHtml(const std::string& line) {
  if (line.empty()) return "";
  return fmt::format("<details><summary>reproduce</summary><code>{}</code></details>",
                     HtmlText(line));
}

std::string ReproduceLine(const DashboardRun& run, const DashboardSeries& series) {
  if (series.reproduce.empty() || !IsCommit(run.commit)) return series.reproduce;
  return "git checkout " + run.commit + " && " + series.reproduce;
}

bool IsScratchField(const DashboardCount& count) {
  return count.is_bytes && count.case_id.starts_with("scratch/") &&
         !count.field.starts_with("ledger.");
}

std::string Section(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format("<section id={0} aria-labelledby={0}-h><h2 id={0}-h>{1}</h2>\n{2}</section>\n",
                     id, title, body);
}

}  // namespace draftmark
