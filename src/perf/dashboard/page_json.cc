#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include "src/base/ascii.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/page.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/series_code.h"

namespace draftmark {
namespace {

// Texts that many runs share, once.
class Texts {
 public:
  std::size_t Index(const std::string& text) {
    const auto [at, is_new] = index_.emplace(text, index_.size());
    if (is_new) list_.push_back(VisibleText(text));
    return at->second;
  }
  const OrderedJson& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> index_;
  OrderedJson list_ = OrderedJson::array();
};

// More digits than a chart shows cost bytes.
double Rounded(double value) { return LeadingNumber(fmt::format("{:.6g}", value)); }

OrderedJson RunColumns(const DashboardData& data, const std::vector<std::size_t>& runs,
                       Texts& texts) {
  OrderedJson columns = {{"id", OrderedJson::array()},     {"time", OrderedJson::array()},
                         {"commit", OrderedJson::array()}, {"driver", OrderedJson::array()},
                         {"cuda", OrderedJson::array()},   {"clocks", OrderedJson::array()},
                         {"note", OrderedJson::array()}};
  for (const std::size_t i : runs) {
    const DashboardRun& run = data.runs[i];
    columns["id"].push_back(VisibleText(run.id));
    columns["time"].push_back(run.time);
    columns["commit"].push_back(texts.Index(run.commit));
    columns["driver"].push_back(texts.Index(run.driver));
    columns["cuda"].push_back(texts.Index(run.cuda));
    columns["clocks"].push_back(texts.Index(run.clocks));
    columns["note"].push_back(texts.Index(run.note));
  }
  return columns;
}

// The line with {case} for the case id: then one text does for many series.
std::string WithoutCase(std::string line, const std::string& case_id) {
  constexpr std::string_view kCase = "{case}";
  if (case_id.empty()) return line;
  for (std::size_t at = line.find(case_id); at != std::string::npos;
       at = line.find(case_id, at + kCase.size())) {
    line.replace(at, case_id.size(), kCase);
  }
  return line;
}

OrderedJson SeriesJson(const DashboardSeries& series, const std::vector<std::size_t>& position,
                       std::size_t runs, Texts& texts) {
  std::vector<std::optional<double>> values(runs);
  for (const DashboardPoint& point : series.points) values[position[point.run]] = point.value;
  const SeriesCode code = EncodeSeries(values);
  OrderedJson segments = OrderedJson::array();
  for (const TrendSegment& segment : series.segments) {
    segments.push_back({position[series.points[segment.first].run], Rounded(segment.level),
                        Rounded(segment.low), Rounded(segment.high)});
  }
  return {{"t", series.testbed},
          {"c", VisibleText(series.case_id)},
          {"e", code.exponent},
          {"v", code.base64},
          {"r", texts.Index(WithoutCase(series.reproduce, series.case_id))},
          {"g", std::move(segments)}};
}

}  // namespace

OrderedJson PageJson(const DashboardData& data) {
  OrderedJson json = {{"schema_version", 1}, {"testbeds", OrderedJson::array()}};
  for (const DashboardTestbed& testbed : data.testbeds) {
    json["testbeds"].push_back(
        {{"name", VisibleText(TestbedText(testbed))}, {"arch", VisibleText(testbed.architecture)}});
  }
  std::vector<std::vector<std::size_t>> runs(data.testbeds.size());
  std::vector<std::size_t> position(data.runs.size());  // among the runs of its testbed
  for (std::size_t i = 0; i < data.runs.size(); ++i) {
    std::vector<std::size_t>& own = runs[data.runs[i].testbed];
    position[i] = own.size();
    own.push_back(i);
  }
  Texts texts;
  json["runs"] = OrderedJson::array();
  for (const std::vector<std::size_t>& own : runs) {
    json["runs"].push_back(RunColumns(data, own, texts));
  }
  json["series"] = OrderedJson::array();
  for (const DashboardSeries& series : data.series) {
    json["series"].push_back(SeriesJson(series, position, runs[series.testbed].size(), texts));
  }
  json["texts"] = texts.list();
  json["releases"] = OrderedJson::array();
  for (const ReleaseMark& release : data.releases) {
    json["releases"].push_back(
        {release.time, VisibleText(release.label), VisibleText(release.commit)});
  }
  return json;
}

}  // namespace draftmark
