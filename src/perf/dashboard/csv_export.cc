#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "src/perf/dashboard/exports.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/markup.h"
#include "src/perf/dashboard/section_parts.h"

namespace draftmark {
namespace {

std::string Line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty()) line += ",";
    line += CsvField(field);
  }
  return line + "\r\n";
}

// The shortest text that is read back as the same number.
std::string Number(double value) { return fmt::format("{}", value); }
std::string Number(const std::optional<double>& value) { return value ? Number(*value) : ""; }
std::string Integer(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

std::string PointsCsv(const DashboardData& data) {
  std::string csv = Line({"time", "architecture", "gpu", "clocks_policy", "driver", "cuda",
                          "clocks", "commit", "run", "case", "seconds", "note", "reproduce"});
  for (const DashboardSeries& series : data.series) {
    const DashboardTestbed& bed = data.testbeds[series.testbed];
    for (const DashboardPoint& point : series.points) {
      const DashboardRun& run = data.runs[point.run];
      csv += Line({IsoTimeText(run.time), bed.architecture, bed.gpu, bed.clocks_policy, run.driver,
                   run.cuda, run.clocks, run.commit, run.id, series.case_id, Number(point.value),
                   run.note, ReproduceLine(run, series)});
    }
  }
  return csv;
}

std::string VerdictsCsv(const DashboardData& data) {
  std::string csv = Line(
      {"time",      "architecture", "gpu",    "clocks_policy", "case",   "metric", "verdict",
       "old_count", "new_count",    "ratio",  "low",           "high",   "p",      "detectable",
       "source",    "base_commit",  "commit", "driver",        "clocks", "reason", "reproduce"});
  for (const DashboardVerdict& verdict : data.verdicts) {
    const DashboardTestbed& bed = data.testbeds[verdict.testbed];
    csv += Line({IsoTimeText(verdict.time),
                 bed.architecture,
                 bed.gpu,
                 bed.clocks_policy,
                 verdict.case_id,
                 verdict.metric.empty() ? "time" : verdict.metric,
                 std::string(VerdictName(verdict.verdict)),
                 Integer(verdict.old_count),
                 Integer(verdict.new_count),
                 Number(verdict.ratio),
                 verdict.shift ? Number(verdict.shift->low) : "",
                 verdict.shift ? Number(verdict.shift->high) : "",
                 Number(verdict.p),
                 Number(verdict.detectable),
                 verdict.source,
                 verdict.base_commit,
                 verdict.commit,
                 verdict.driver,
                 verdict.clocks,
                 verdict.reason,
                 verdict.reproduce});
  }
  return csv;
}

}  // namespace draftmark
