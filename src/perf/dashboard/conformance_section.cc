#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"

namespace draftmark {
namespace {

std::string UsedText(const MatrixCell& cell) {
  return cell.used_share ? " " + ShareText(*cell.used_share) : "";
}

// The bar behind the text is as long as the used share; what is full is at its bound.
std::string Cell(const MatrixCell& cell) {
  const long percent = std::lround(std::clamp(cell.used_share.value_or(0), 0.0, 1.0) * 100);
  const std::string cases = cell.cases == 1 ? "1 case" : fmt::format("{} cases", cell.cases);
  const std::string detail =
      cell.detail.empty() ? "" : "<br><small>" + HtmlText(cell.detail) + "</small>";
  switch (cell.state) {
    case CellState::kPassed:
      return fmt::format("<td class=c-passed style=\"--u:{}%\"><b>✓{}</b> <small>{}</small>{}",
                         percent, UsedText(cell), cases, detail);
    case CellState::kWaived:
      return fmt::format(
          "<td class=c-waived style=\"--u:{}%\"><b>~ waived{}</b> "
          "<small>{}</small>{}",
          percent, UsedText(cell), cases, detail);
    case CellState::kFailed:
      return fmt::format(
          "<td class=c-failed style=\"--u:{}%\"><b>✕ failed{}</b> "
          "<small>{}</small>{}",
          percent, UsedText(cell), cases, detail);
    case CellState::kNeverRun:
      break;
  }
  // The states of conformance/expectations/architectures.h, behind which a colon stands.
  const std::size_t colon = cell.detail.find(": ");
  if (colon == std::string::npos) return "<td class=c-never>○ never run" + detail;
  const std::string state = cell.detail.substr(0, colon);
  return fmt::format("<td class=c-never>○ {}<br><small>{}</small>",
                     HtmlText(state == "run" ? "run, not in this history" : state),
                     HtmlText(cell.detail.substr(colon + 2)));
}

// Every suite; those that failed are the first rows.
std::string SuitesTable(const DashboardData& data) {
  if (data.suites.empty()) return "";
  std::string rows;
  for (const DashboardSuite& suite : data.suites) {
    rows += fmt::format(
        "<tr><th scope=row>{}<td>{}<td class={}><b>{}</b>{}<td class=n>{}<td class=n>{}<td "
        "class=n>{}<td>{} UTC <code>{}</code>\n",
        HtmlText(suite.name), HtmlText(suite.architecture), suite.failed ? "c-failed" : "c-passed",
        suite.failed ? "✕ failed" : "✓",
        suite.detail.empty() ? "" : "<br><small>" + HtmlText(suite.detail) + "</small>",
        suite.failures, suite.passed, suite.skipped, TimeText(suite.time),
        HtmlText(ShortCommit(suite.commit)));
  }
  return "<h3>Suites</h3><p class=note>The newest total of each program or group of checks, "
         "failed ones first.</p><div class=scroll tabindex=0 role=region aria-label=Suites><table "
         "class=\"matrix filtered\"><thead><tr><th>Suite<th>Architecture<th>State<th>Failed"
         "<th>Passed<th>Skipped<th>Run</thead><tbody>" +
         rows + "</tbody></table></div>";
}

}  // namespace

std::string ConformanceSection(const DashboardData& data) {
  std::set<std::string, decltype(&ArchitectureLess)> architectures(&ArchitectureLess);
  std::map<std::string, std::map<std::string, const MatrixCell*>> operations;
  for (const MatrixCell& cell : data.conformance) {
    architectures.insert(cell.architecture);
    operations[cell.operation][cell.architecture] = &cell;
  }
  if (operations.empty()) {
    return Section(
        "conformance", "Conformance",
        data.suites.empty() ? "<p>No conformance run is in the history.</p>" : SuitesTable(data));
  }
  std::string head = "<tr><th>Operation";
  for (const std::string& architecture : architectures) head += "<th>" + HtmlText(architecture);
  std::string rows;
  const MatrixCell never;
  for (const auto& [operation, cells] : operations) {
    rows += "<tr><th scope=row>" + HtmlText(operation);
    for (const std::string& architecture : architectures) {
      const auto found = cells.find(architecture);
      rows += Cell(found == cells.end() ? never : *found->second);
    }
    rows += "\n";
  }
  return Section(
      "conformance", "Conformance",
      "<p class=note>Each operation on each architecture: ✓ passed, ~ waived, ✕ failed, ○ no run "
      "in "
      "this history (compiled, or never run and why), with the share of its tolerance that the "
      "worst case used (100 % is the bound).</p>"
      "<div class=scroll tabindex=0 role=region aria-label=\"Conformance matrix\"><table "
      "class=\"matrix filtered\"><thead>" +
          head + "</thead><tbody>" + rows + "</tbody></table></div>" + SuitesTable(data));
}

}  // namespace draftmark
