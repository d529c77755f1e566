// Trends: nights of every series, and what its newest point says of the floor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/ascii.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/dashboard/load_parts.h"
#include "src/perf/history/utc_time.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

// One series of the page and what it is made of: a series of the history for each driver and CUDA.
struct Parts {
  std::vector<const NightSeries*> series;
  std::int64_t schema = 0;
};

const NightValue* NewestOf(const NightSeries& series) {
  for (std::size_t i = series.nights.size(); i-- > 0;) {
    if (series.nights[i].seconds > 0) return &series.nights[i];
  }
  return nullptr;
}

// Rates of the newest run, and by them the bandwidth that the shares of it were taken of.
Status LoadRates(LoadState& state, const NightSeries& newest, DashboardSeries& series) {
  const NightValue* night = NewestOf(newest);
  if (night == nullptr) return OkStatus();
  if (night->floor_share >= 0) series.floor_share = night->floor_share;
  DM_ASSIGN_OR_RETURN(const std::vector<TrendPoint> points,
                      state.reader.Trend(newest.series.id, NightOfDay(night->day)));
  std::optional<double>& bandwidth = state.data.testbeds[series.testbed].copy_bandwidth;
  for (const TrendPoint& point : points) {
    if (!point.valid) continue;
    series.bytes_per_second = point.point.bytes_per_second;
    series.flops_per_second = point.point.flops_per_second;
    if (bandwidth || !point.point.bytes_per_second || !point.point.copy_share) continue;
    if (*point.point.copy_share > 0) {
      bandwidth = *point.point.bytes_per_second / *point.point.copy_share;
    }
  }
  return OkStatus();
}

// The run that stands for a night of a series: the night's, or that of the commit which measured
// it.
StatusOr<std::optional<std::size_t>> RunOf(LoadState& state, const NightSeries& series,
                                           std::int32_t day) {
  const std::pair night(series.series.environment, day);
  const auto run = state.runs.find(night);
  if (run == state.runs.end()) return std::optional<std::size_t>();
  const std::map<std::string, std::size_t>& commits = state.by_commit[night];
  if (commits.size() < 2) return std::optional(run->second);
  const std::string name = NightOfDay(day);
  DM_ASSIGN_OR_RETURN(const std::vector<TrendPoint> points,
                      state.reader.Trend(series.series.id, name));
  std::size_t found = run->second;
  std::int64_t newest = INT64_MIN;
  for (const TrendPoint& point : points) {
    const auto of_commit = commits.find(point.commit);
    if (point.night != name || !point.valid || point.time < newest || of_commit == commits.end())
      continue;
    newest = point.time;
    found = of_commit->second;
  }
  return std::optional(found);
}

// Divides each point by its night's sentinel: a GEMM's where arithmetic bounds the case, else a
// copy's. Nights without one stay as they are. `days` are those of the points.
void OverSentinel(const LoadState& state, const std::vector<std::int32_t>& days,
                  DashboardSeries& series) {
  const DashboardTestbed& bed = state.data.testbeds[series.testbed];
  const bool arithmetic =
      series.flops_per_second && bed.peak_flops && series.bytes_per_second && bed.copy_bandwidth &&
      *series.flops_per_second / *bed.peak_flops > *series.bytes_per_second / *bed.copy_bandwidth;
  const auto kind = state.sentinels.find(arithmetic ? kGemmContext : kCopyContext);
  if (kind == state.sentinels.end()) return;
  const auto found = kind->second.find(series.testbed);
  if (found == kind->second.end()) return;
  std::vector<double> all;
  for (const auto& [day, seconds] : found->second) all.push_back(seconds);
  const double middle = Median(std::move(all));
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const auto sentinel = found->second.find(days[i]);
    if (sentinel == found->second.end()) continue;
    series.points[i].steady = series.points[i].value * middle / sentinel->second;
  }
}

StatusOr<DashboardSeries> SeriesOf(LoadState& state, std::size_t testbed,
                                   const std::string& case_id, const Parts& parts) {
  DashboardSeries series{.case_id = case_id, .testbed = testbed};
  const NightSeries* newest = nullptr;
  std::int32_t newest_day = 0;
  std::vector<std::pair<DashboardPoint, std::int32_t>> points;  // and their days
  for (const NightSeries* part : parts.series) {
    for (const NightValue& night : part->nights) {
      if (night.seconds <= 0) continue;
      DM_ASSIGN_OR_RETURN(const std::optional<std::size_t> run, RunOf(state, *part, night.day));
      if (run) points.push_back({{.run = *run, .value = night.seconds}, night.day});
    }
    if (const NightValue* last = NewestOf(*part); last && (!newest || last->day >= newest_day)) {
      newest = part;
      newest_day = last->day;
    }
  }
  // Runs are in the order of time.
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.first.run < b.first.run; });
  std::vector<std::int32_t> days;
  for (const auto& [point, day] : points) {
    series.points.push_back(point);
    days.push_back(day);
  }
  if (newest != nullptr) {
    series.reproduce = newest->reproduce;
    DM_RETURN_IF_ERROR(LoadRates(state, *newest, series));
  }
  OverSentinel(state, days, series);
  return series;
}

}  // namespace

// The median of the runs of each night.
Status LoadSentinels(LoadState& state) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      state.reader.db().Query("SELECT u.environment, u.night, c.name, c.value FROM context c JOIN "
                              "runs u ON u.record = c.record WHERE c.name IN (?1, ?2) AND u.valid",
                              kCopyContext, kGemmContext));
  std::map<std::tuple<std::string, std::size_t, std::int32_t>, std::vector<double>> found;
  while (rows.Next()) {
    const double rate = LeadingNumber(rows.Text(3));
    const std::optional<std::int64_t> day = DayOfNight(rows.Text(1));
    if (!(rate > 0) || !std::isfinite(rate) || !day) continue;
    const std::size_t testbed = state.beds.at(rows.Int(0)).testbed;
    found[{rows.Text(2), testbed, static_cast<std::int32_t>(*day)}].push_back(1 / rate);
  }
  DM_RETURN_IF_ERROR(rows.status());
  for (auto& [key, seconds] : found) {
    const auto& [name, testbed, day] = key;
    state.sentinels[name][testbed][day] = Median(std::move(seconds));
  }
  return OkStatus();
}

Status LoadTrends(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<NightSeries> nights, state.reader.Nights());
  std::map<std::pair<std::size_t, std::string>, Parts> found;
  for (const NightSeries& one : nights) {
    if (NewestOf(one) == nullptr) continue;  // counts alone
    Parts& parts = found[{state.beds.at(one.series.environment).testbed, one.series.case_id}];
    if (one.series.schema < parts.schema) continue;
    if (one.series.schema > parts.schema) parts = {.series = {}, .schema = one.series.schema};
    parts.series.push_back(&one);
  }
  for (const auto& [key, parts] : found) {
    DM_ASSIGN_OR_RETURN(DashboardSeries series, SeriesOf(state, key.first, key.second, parts));
    if (!series.points.empty()) state.data.series.push_back(std::move(series));
  }
  return OkStatus();
}

}  // namespace draftmark
