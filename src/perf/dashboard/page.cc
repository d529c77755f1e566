#include "src/perf/dashboard/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <utility>

#include "src/base/check.h"
#include "src/base/sha256.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/page_assets.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"

namespace draftmark {
namespace {

int HexDigit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// As a content security policy names an inline script.
std::string ScriptSource(std::string_view script) {
  const std::string hex = Sha256Hex(std::as_bytes(std::span(script)));
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(HexDigit(hex[i]) * 16 + HexDigit(hex[i + 1]));
  }
  return "'sha256-" + Base64(bytes) + "'";
}

std::string ArchitectureOptions(const DashboardData& data) {
  std::vector<std::string> names;
  for (const DashboardTestbed& testbed : data.testbeds) names.push_back(testbed.architecture);
  std::sort(names.begin(), names.end(), ArchitectureLess);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string html;
  for (const std::string& name : names)
    html += fmt::format("<option value=\"{0}\">{0}", HtmlText(name));
  return html;
}

std::string VerdictOptions() {
  std::string html;
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kInvalid, Verdict::kUnclear, Verdict::kFaster, Verdict::kSame}) {
    html += fmt::format("<option value={0}>{1} {0}", VerdictName(verdict), VerdictSign(verdict));
  }
  return html;
}

}  // namespace

std::string FillTemplate(std::string_view text,
                         const std::vector<std::pair<std::string, std::string>>& values) {
  std::string filled;
  while (true) {
    const std::size_t open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const std::size_t close = text.find("}}", open);
    DM_CHECK(close != std::string_view::npos);
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& value) { return value.first == name; });
    DM_CHECK(found != values.end());
    filled += found->second;
    text.remove_prefix(close + 2);
  }
}

std::string RenderPage(const DashboardData& data) {
  const PageAssets& assets = ThePageAssets();
  const std::string script(assets.script);
  const std::string charts(assets.dygraph_script);
  const std::string policy = fmt::format(
      "default-src 'none'; style-src 'unsafe-inline'; script-src {} {}; base-uri 'none'; "
      "form-action 'none'",
      ScriptSource(charts), ScriptSource(script));
  return FillTemplate(
      assets.html,
      {{"POLICY", policy},
       {"TITLE", HtmlText(data.title)},
       {"DEMO", data.is_demo ? "<p class=demo role=note>Synthetic data: nothing here was measured."
                               "</p>"
                             : ""},
       {"SOURCE", HtmlText(data.source)},
       {"MADE", DayText(data.now)},
       {"DYGRAPH_STYLE", std::string(assets.dygraph_style)},
       {"STYLE", std::string(assets.style)},
       {"ARCHITECTURES", ArchitectureOptions(data)},
       {"VERDICTS", VerdictOptions()},
       {"SUMMARY", SummarySection(data)},
       {"NEWEST", VerdictsSection(data)},
       {"CASES", CasesSection(data)},
       {"ROOFLINE", RooflineSection(data)},
       {"COUNTS", CountsSection(data)},
       {"CONFORMANCE", ConformanceSection(data)},
       {"AA", AaSection(data)},
       {"RUNS", RunsSection(data)},
       {"DATA", ScriptJson(PageJson(data))},
       {"DYGRAPHS", charts},
       {"SCRIPT", script}});
}

}  // namespace draftmark
