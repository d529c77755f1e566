#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "src/perf/dashboard/charts.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/sections.h"
#include "src/perf/dashboard/tally.h"

namespace draftmark {
namespace {

using Fields = std::vector<const DashboardCount*>;

std::uint64_t SumOf(const Fields& fields) {
  std::uint64_t sum = 0;
  for (const DashboardCount* field : fields) sum += field->value;
  return sum;
}

std::string GrowthCell(const DashboardCount& count) {
  if (!count.recorded) return "<small>nothing recorded</small>";
  if (HasGrown(count)) {
    return "<b class=v-slower>▲ +" + BytesText(count.value - *count.recorded) + "</b>";
  }
  if (count.value < *count.recorded) {
    return "<b class=v-faster>▼ −" + BytesText(*count.recorded - count.value) + "</b>";
  }
  return "= recorded";
}

std::string FieldsTable(const Fields& fields) {
  std::string rows;
  for (const DashboardCount* field : fields) {
    rows += fmt::format("<tr><td>{}<td class=n>{}<td>{}\n", HtmlText(field->field),
                        BytesText(field->value), GrowthCell(*field));
  }
  return "<table><thead><tr><th>Field<th class=n>Bytes<th>Against the recorded "
         "value</tr></thead><tbody>" +
         rows + "</tbody></table>";
}

// Fields whose growth fails the gate stand before the bar, so that they are read without opening.
std::string GrownList(const Fields& fields) {
  std::string list;
  for (const DashboardCount* field : fields) {
    if (!HasGrown(*field)) continue;
    list += fmt::format(" <b class=v-slower>▲ {} +{}</b>", HtmlText(field->field),
                        BytesText(field->value - *field->recorded));
  }
  return list;
}

std::string ScratchBars(const DashboardData& data) {
  std::map<std::pair<std::string, std::string>, Fields> configs;
  for (const DashboardCount& count : data.counts) {
    if (IsScratchField(count)) configs[{count.case_id, count.architecture}].push_back(&count);
  }
  std::uint64_t largest = 0;
  for (const auto& [key, fields] : configs) largest = std::max(largest, SumOf(fields));
  std::string html;
  for (const auto& [key, fields] : configs) {
    const auto& [id, architecture] = key;
    html += fmt::format(
        "<div class=config><h4><bdi>{}</bdi> <small>{} bytes{}{}</small>{}</h4>{}"
        "<details><summary>{} fields</summary>{}</details></div>\n",
        HtmlText(id.substr(std::string_view("scratch/").size())), BytesText(SumOf(fields)),
        architecture.empty() ? "" : " on " + HtmlText(architecture),
        fields.front()->commit.empty()
            ? ""
            : ", commit " + HtmlText(ShortCommit(fields.front()->commit)),
        GrownList(fields), StackedBar(fields, largest), fields.size(), FieldsTable(fields));
  }
  if (html.empty()) return "<p>No scratch memory is in the history.</p>";
  return "<p class=note>Bytes of each field in shares of the configuration's sum, the largest "
         "first; the thin line below is the sum against the largest configuration.</p>" +
         html;
}

std::string OtherCounts(const DashboardData& data) {
  std::string rows;
  for (const DashboardCount& count : data.counts) {
    if (IsScratchField(count)) continue;
    rows +=
        fmt::format("<tr data-a=\"{0}\"><td>{0}<td><bdi>{1}</bdi><td>{2}<td class=n>{3}<td>{4}\n",
                    HtmlText(count.architecture), HtmlText(count.case_id), HtmlText(count.field),
                    BytesText(count.value), GrowthCell(count));
  }
  if (rows.empty()) return "";
  return "<h3>Other exact counts</h3><div class=\"scroll tall\" tabindex=0 role=region "
         "aria-label=\"Exact counts\"><table "
         "class=filtered><thead><tr><th>Arch<th>Case<th>Count<th class=n>"
         "Value<th>Against the recorded value</tr></thead><tbody>" +
         rows + "</tbody></table></div>";
}

}  // namespace

std::string CountsSection(const DashboardData& data) {
  return Section("counts", "Scratch memory and exact counts",
                 ScratchBars(data) + OtherCounts(data));
}

}  // namespace draftmark
