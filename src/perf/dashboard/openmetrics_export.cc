#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "src/perf/dashboard/exports.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"
#include "src/perf/dashboard/tally.h"

namespace draftmark {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

// One metric family: its head once, then a line for each sample. Families without samples are left
// out.
class Family {
 public:
  Family(std::string name, const char* type, const char* unit, const char* help)
      : name_(std::move(name)) {
    head_ = fmt::format("# TYPE {} {}\n", name_, type);
    if (*unit != 0) head_ += fmt::format("# UNIT {} {}\n", name_, unit);
    head_ += fmt::format("# HELP {} {}\n", name_, help);
  }

  void Add(const Labels& labels, double value, const char* suffix = "") {
    if (!std::isfinite(value)) return;
    lines_ += name_ + suffix + "{";
    bool is_first = true;
    for (const auto& [label, text] : labels) {
      lines_ += fmt::format("{}{}=\"{}\"", is_first ? "" : ",", label, OpenMetricsLabel(text));
      is_first = false;
    }
    lines_ += fmt::format("}} {}\n", value);
  }

  std::string Text() const { return lines_.empty() ? "" : head_ + lines_; }

 private:
  std::string name_;
  std::string head_;
  std::string lines_;
};

Labels BedLabels(const DashboardTestbed& bed) {
  return {
      {"architecture", bed.architecture}, {"gpu", bed.gpu}, {"clocks_policy", bed.clocks_policy}};
}

Labels With(Labels labels, const char* name, std::string text) {
  labels.emplace_back(name, std::move(text));
  return labels;
}

std::string CaseFamilies(const DashboardData& data) {
  Family seconds("draftmark_case_seconds", "gauge", "seconds", "Newest time of a case.");
  Family level("draftmark_case_level_seconds", "gauge", "seconds",
               "Median of the nights since the last change point.");
  Family share("draftmark_case_floor_share", "gauge", "",
               "Least possible time over the newest time; 1 is the limit.");
  for (const DashboardSeries& series : data.series) {
    if (series.points.empty()) continue;
    const Labels labels = With(BedLabels(data.testbeds[series.testbed]), "case", series.case_id);
    seconds.Add(labels, series.points.back().value);
    if (!series.segments.empty()) level.Add(labels, series.segments.back().level);
    if (series.floor_share) share.Add(labels, *series.floor_share);
  }
  return seconds.Text() + level.Text() + share.Text();
}

std::string VerdictFamilies(const DashboardData& data) {
  constexpr char kName[] = "draftmark_case_verdict";
  Family states(kName, "stateset", "", "Newest verdict of a case.");
  Family ratios("draftmark_case_change_ratio", "gauge", "ratio",
                "New time over base of the newest verdict.");
  for (const std::size_t i : NewestVerdicts(data)) {
    const DashboardVerdict& verdict = data.verdicts[i];
    const Labels labels =
        With(With(BedLabels(data.testbeds[verdict.testbed]), "case", verdict.case_id), "metric",
             verdict.metric.empty() ? "time" : verdict.metric);
    for (const Verdict state : {Verdict::kFaster, Verdict::kSame, Verdict::kSlower,
                                Verdict::kUnclear, Verdict::kInvalid}) {
      states.Add(With(labels, kName, std::string(VerdictName(state))),
                 state == verdict.verdict ? 1 : 0);
    }
    if (verdict.ratio) ratios.Add(labels, *verdict.ratio);
  }
  return states.Text() + ratios.Text();
}

std::string RunFamilies(const DashboardData& data) {
  Family info("draftmark_run", "info", "", "Newest run of a testbed.");
  Family time("draftmark_run_timestamp_seconds", "gauge", "seconds", "When it was, since 1970.");
  std::vector<const DashboardRun*> newest(data.testbeds.size());
  for (const DashboardRun& run : data.runs) newest[run.testbed] = &run;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    if (newest[i] == nullptr) continue;
    const Labels labels = BedLabels(data.testbeds[i]);
    time.Add(labels, static_cast<double>(newest[i]->time));
    info.Add(With(With(With(labels, "driver", newest[i]->driver), "cuda", newest[i]->cuda),
                  "commit", newest[i]->commit),
             1, "_info");
  }
  return info.Text() + time.Text();
}

std::string CountFamilies(const DashboardData& data) {
  Family value("draftmark_count", "gauge", "", "An exact number: bytes of a field, launches.");
  Family grown("draftmark_count_grown", "gauge", "", "1 where it is above the recorded value.");
  for (const DashboardCount& count : data.counts) {
    const Labels labels = {
        {"architecture", count.architecture}, {"case", count.case_id}, {"field", count.field}};
    value.Add(labels, static_cast<double>(count.value));
    grown.Add(labels, HasGrown(count) ? 1 : 0);
  }
  return value.Text() + grown.Text();
}

std::string ConformanceFamilies(const DashboardData& data) {
  Family used("draftmark_conformance_used_share", "gauge", "",
              "Share of the tolerance that the worst case used.");
  Family failed("draftmark_conformance_failed", "gauge", "", "1 where a case fails.");
  for (const MatrixCell& cell : data.conformance) {
    if (cell.state == CellState::kNeverRun) continue;
    const Labels labels = {{"operation", cell.operation}, {"architecture", cell.architecture}};
    if (cell.used_share) used.Add(labels, *cell.used_share);
    failed.Add(labels, cell.state == CellState::kFailed ? 1 : 0);
  }
  Family suites("draftmark_suite_failed", "gauge", "", "1 where a suite of tests failed.");
  for (const DashboardSuite& suite : data.suites) {
    suites.Add({{"suite", suite.name}, {"architecture", suite.architecture}}, suite.failed ? 1 : 0);
  }
  return used.Text() + failed.Text() + suites.Text();
}

std::string AaFamilies(const DashboardData& data) {
  Family comparisons("draftmark_aa_comparisons", "gauge", "", "A/A comparisons in the history.");
  Family alarms("draftmark_aa_false_alarms", "gauge", "", "Those that called a case slower.");
  for (const AaQuality& quality : data.aa) {
    const Labels labels = BedLabels(data.testbeds[quality.testbed]);
    comparisons.Add(labels, static_cast<double>(quality.comparisons));
    alarms.Add(labels, static_cast<double>(quality.false_alarms));
  }
  return comparisons.Text() + alarms.Text();
}

}  // namespace

std::string OpenMetrics(const DashboardData& data) {
  return CaseFamilies(data) + VerdictFamilies(data) + RunFamilies(data) + CountFamilies(data) +
         ConformanceFamilies(data) + AaFamilies(data) + "# EOF\n";
}

}  // namespace draftmark
