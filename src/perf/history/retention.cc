#include "src/perf/history/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "src/base/errno_status.h"
#include "src/perf/history/utc_time.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

namespace fs = std::filesystem;

// Runs that only measured, by environment and night, with the number of their points.
StatusOr<std::map<std::pair<Environment, std::string>, RetainedNight>> MeasuredNights(Sqlite& db) {
  std::map<std::pair<Environment, std::string>, RetainedNight> nights;
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db.Query("SELECT e.architecture, e.gpu, e.driver, e.cuda, e.clocks, u.night, r.uid, "
               "(SELECT count(*) FROM points WHERE record = u.record) "
               "FROM runs u JOIN records r ON r.id = u.record "
               "JOIN environments e ON e.id = u.environment "
               "WHERE NOT EXISTS (SELECT 1 FROM conformance WHERE record = u.record) "
               "AND NOT EXISTS (SELECT 1 FROM suites WHERE record = u.record) "
               "AND NOT EXISTS (SELECT 1 FROM tests WHERE record = u.record) "
               "ORDER BY r.time, r.uid"));
  while (rows.Next()) {
    const Environment environment{rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3),
                                  rows.Text(4)};
    RetainedNight& night = nights[{environment, rows.Text(5)}];
    night.environment = environment;
    night.night = rows.Text(5);
    night.runs.push_back(rows.Text(6));
    night.points += rows.Int(7);
  }
  DM_RETURN_IF_ERROR(rows.status());
  return nights;
}

// Files of the folder whose runs a night stands for: what a killed call has left.
StatusOr<std::vector<std::string>> Leftovers(History& history) {
  std::vector<std::string> names;
  DM_ASSIGN_OR_RETURN(SqliteRows rows,
                      history.db().Query("SELECT DISTINCT uid FROM replaced_runs ORDER BY uid"));
  while (rows.Next()) {
    const std::string name = RecordFileName(rows.Text(0));
    std::error_code ignored;
    if (fs::is_regular_file(JoinPath(history.folder(), name), ignored)) names.push_back(name);
  }
  DM_RETURN_IF_ERROR(rows.status());
  return names;
}

// Deletes, or moves as a copy that is whole before the original goes: the archive may be on another
// disk.
Status DropFile(const std::string& path, const std::string& archive) {
  std::error_code error;
  if (!archive.empty()) {
    DM_ASSIGN_OR_RETURN(const std::string text,
                        ReadTextFile(path, RealFileSystem(), kLargestRecordFile));
    const std::string name = fs::path(path).filename().string();
    DM_RETURN_IF_ERROR(WriteTextFile(JoinPath(archive, name), text));
  }
  fs::remove(path, error);
  return error ? ErrnoStatus(error.value(), "remove", path) : OkStatus();
}

// All points of one series in a night's runs.
struct SeriesRuns {
  std::vector<double> seconds, copy_shares, floor_shares;
  NightPoint night;
};

void AddPoint(const RunRecord& run, const Point& point, SeriesRuns& into) {
  into.night.case_id = point.case_id;
  into.night.schema = point.schema;
  if (!point.counts.empty()) into.night.counts = point.counts;
  if (!run.valid || !point.seconds) return;
  into.seconds.push_back(*point.seconds);
  into.night.samples += point.samples;
  into.night.unit = point.unit;
  if (point.copy_share) into.copy_shares.push_back(*point.copy_share);
  if (point.floor_share) into.floor_shares.push_back(*point.floor_share);
}

}  // namespace

NightRecord SummarizeNight(const std::vector<RunRecord>& runs,
                           const std::vector<std::string>& ids) {
  std::vector<const RunRecord*> by_time;
  by_time.reserve(runs.size());
  for (const RunRecord& run : runs) by_time.push_back(&run);
  std::stable_sort(by_time.begin(), by_time.end(), [](const RunRecord* a, const RunRecord* b) {
    return std::tie(a->time, a->number) < std::tie(b->time, b->number);
  });
  std::map<std::pair<std::string, std::int64_t>, SeriesRuns> series;
  for (const RunRecord* const run : by_time) {
    for (const Point& point : run->points) {
      AddPoint(*run, point, series[{point.case_id, point.schema}]);
    }
  }
  const RunRecord& last = *by_time.back();
  NightRecord night{.time = last.time,
                    .night = last.night,
                    .environment = last.environment,
                    .commit = last.commit,
                    .replaces = ids};
  for (auto& [key, its] : series) {
    its.night.runs = static_cast<std::int64_t>(its.seconds.size());
    if (!its.seconds.empty()) {
      its.night.low = *std::min_element(its.seconds.begin(), its.seconds.end());
      its.night.high = *std::max_element(its.seconds.begin(), its.seconds.end());
      its.night.seconds = Median(its.seconds);
    }
    if (!its.copy_shares.empty()) its.night.copy_share = Median(its.copy_shares);
    if (!its.floor_shares.empty()) its.night.floor_share = Median(its.floor_shares);
    if (its.night.runs > 0 || !its.night.counts.empty()) night.points.push_back(its.night);
  }
  return night;
}

StatusOr<RetentionPlan> PlanRetention(History& history, const RetentionRule& rule) {
  if (rule.nights < 0 || (rule.nights == 0 && rule.first_day.empty())) {
    return InvalidArgumentError("retention: expected how many nights or days keep their runs");
  }
  if (!rule.first_day.empty() && !DayOfNight(rule.first_day)) {
    return InvalidArgumentError(
        fmt::format("retention: expected a day as 2026-11-30, found \"{}\"", rule.first_day));
  }
  DM_ASSIGN_OR_RETURN(const auto nights, MeasuredNights(history.db()));
  std::map<Environment, std::int64_t> left;  // nights that are still to be passed over
  for (const auto& [key, night] : nights) ++left[key.first];
  RetentionPlan plan;
  for (const auto& [key, night] : nights) {
    const bool is_new = rule.nights > 0 && left[key.first]-- <= rule.nights;
    if (is_new || (!rule.first_day.empty() && night.night >= rule.first_day)) continue;
    plan.nights.push_back(night);
  }
  DM_ASSIGN_OR_RETURN(plan.leftovers, Leftovers(history));
  return plan;
}

StatusOr<RetentionReport> ApplyRetention(History& history, const RetentionPlan& plan,
                                         const std::string& archive) {
  if (!archive.empty()) {
    DM_RETURN_IF_ERROR(RealFileSystem().CreateDirectories(archive));
    // A file that is moved to itself would be deleted.
    std::error_code error;
    if (fs::equivalent(archive, history.folder(), error) || error) {
      return InvalidArgumentError(fmt::format(
          "{}: expected a folder for the archive, found that of the history's records, {}", archive,
          history.folder()));
    }
  }
  RetentionReport report;
  std::vector<std::string> names = plan.leftovers;
  for (const RetainedNight& planned : plan.nights) {
    std::vector<RunRecord> runs;
    for (const std::string& uid : planned.runs) {
      DM_ASSIGN_OR_RETURN(HistoryRecord record, ReadRecord(history.db(), uid));
      runs.push_back(std::get<RunRecord>(std::move(record)));
      names.push_back(RecordFileName(uid));
    }
    DM_ASSIGN_OR_RETURN(const Added added, history.Add(SummarizeNight(runs, planned.runs)));
    report.written.push_back(added.uid);
  }
  for (const std::string& name : names) {
    const std::string path = JoinPath(history.folder(), name);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    DM_RETURN_IF_ERROR(DropFile(path, archive));
    report.dropped.push_back(name);
  }
  // Gives the space back.
  if (!report.written.empty()) DM_RETURN_IF_ERROR(history.db().Run("VACUUM"));
  return report;
}

}  // namespace draftmark
