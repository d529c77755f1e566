#include <fmt/format.h>

#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"

namespace draftmark {
namespace {

std::string CommandHtml(const std::string& command) {
  return command.empty() ? "" : "<code>" + HtmlText(command) + "</code> ";
}

}  // namespace

std::string RunsSection(const DashboardData& data) {
  std::string rows;
  for (std::size_t i = data.runs.size(); i-- > 0;) {
    const DashboardRun& run = data.runs[i];
    const std::string arch = HtmlText(data.testbeds[run.testbed].architecture);
    rows += fmt::format(
        "<tr data-a=\"{0}\"><td>{1}<td>{0}<td><code>{2}</code><td>{3}<td>{4}<td>{5}<td>{6}{7}\n",
        arch, TimeText(run.time), HtmlText(ShortCommit(run.commit)), HtmlText(run.driver),
        HtmlText(run.cuda), HtmlText(run.clocks), CommandHtml(run.command),
        run.note.empty() ? "" : "<b class=v-invalid>✕ " + HtmlText(run.note) + "</b>");
  }
  if (rows.empty()) return Section("runs", "Runs", "<p>No run is in the history.</p>");
  return Section(
      "runs", "Runs",
      "<p class=note>Newest first: what stands behind each point of the trends.</p><details "
      "id=runs-all><summary>" +
          fmt::format("{} runs", data.runs.size()) +
          "</summary><div class=\"scroll tall\"><table class=filtered><thead><tr><th>When, UTC<th>"
          "Arch<th>Commit<th>Driver<th>CUDA<th>Clocks<th>Command</tr></thead><tbody>" +
          rows + "</tbody></table></div></details>");
}

}  // namespace draftmark
