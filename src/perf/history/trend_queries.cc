// Trends of history_reader.h.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "src/perf/history/history_reader.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

// Every series of a filter, with a question mark less than its SQL has: ?1 to ?3.
constexpr char kSeriesOfFilter[] =
    "(SELECT s.id FROM series s JOIN environments e ON e.id = s.environment "
    "JOIN cases c ON c.id = s.case_id WHERE (?1 = '' OR e.architecture = ?1) "
    "AND (?2 IS NULL OR s.environment = ?2) AND (?3 = '' OR c.name = ?3))";

std::int32_t DayOf(const std::string& night) {
  return static_cast<std::int32_t>(DayOfNight(night).value_or(0));
}

// 0 for "", so that everything is since then.
std::int32_t FirstDay(const std::string& since) {
  return since.empty() ? std::numeric_limits<std::int32_t>::min() : DayOf(since);
}

float MedianOf(std::vector<float>& values) {
  if (values.empty()) return -1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// What Nights() needs to know of a run, looked up a million times.
struct RunFacts {
  std::int32_t day = 0;
  bool valid = true;
  std::int64_t time = 0;
};

StatusOr<std::unordered_map<std::int64_t, RunFacts>> LoadRuns(Sqlite& db) {
  std::unordered_map<std::int64_t, RunFacts> runs;
  DM_ASSIGN_OR_RETURN(SqliteRows rows,
                      db.Query("SELECT u.record, u.night, u.valid, r.time FROM runs u "
                               "JOIN records r ON r.id = u.record"));
  while (rows.Next()) {
    runs[rows.Int(0)] = {DayOf(rows.Text(1)), rows.Int(2) != 0, rows.Int(3)};
  }
  DM_RETURN_IF_ERROR(rows.status());
  return runs;
}

// The points of one series, until they are made into nights.
class NightMaker {
 public:
  void Add(const RunFacts& run, std::optional<double> seconds, bool failed, std::int64_t samples,
           std::optional<double> copy_share, std::optional<double> floor_share) {
    points_.push_back({run.day, run.valid, failed, seconds.value_or(0), samples,
                       static_cast<float>(copy_share.value_or(-1)),
                       static_cast<float>(floor_share.value_or(-1))});
  }
  bool empty() const { return points_.empty(); }

  // Appends the nights, and forgets the points.
  void Finish(std::vector<NightValue>& nights) {
    std::sort(points_.begin(), points_.end(), [](const RunPoint& a, const RunPoint& b) {
      return std::tie(a.day, a.seconds) < std::tie(b.day, b.seconds);
    });
    for (std::size_t i = 0; i < points_.size();) {
      std::size_t end = i;
      while (end < points_.size() && points_[end].day == points_[i].day) ++end;
      nights.push_back(NightOf(i, end));
      i = end;
    }
    points_.clear();
  }

 private:
  struct RunPoint {
    std::int32_t day;
    bool valid, failed;
    double seconds;  // 0: none
    std::int64_t samples;
    float copy_share, floor_share;
  };

  NightValue NightOf(std::size_t begin, std::size_t end) {
    NightValue night{.day = points_[begin].day};
    values_.clear();
    copy_shares_.clear();
    floor_shares_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const RunPoint& p = points_[i];
      if (p.failed) ++night.failed;
      if (!p.valid) ++night.invalid;
      if (!p.valid || p.seconds <= 0) continue;
      values_.push_back(p.seconds);
      night.samples += p.samples;
      if (p.copy_share >= 0) copy_shares_.push_back(p.copy_share);
      if (p.floor_share >= 0) floor_shares_.push_back(p.floor_share);
    }
    night.runs = static_cast<std::int32_t>(values_.size());
    if (!values_.empty()) {
      const std::size_t half = values_.size() / 2;  // ascending
      night.seconds =
          values_.size() % 2 == 1 ? values_[half] : (values_[half - 1] + values_[half]) / 2;
      night.low = values_.front();
      night.high = values_.back();
    }
    night.copy_share = MedianOf(copy_shares_);
    night.floor_share = MedianOf(floor_shares_);
    return night;
  }

  std::vector<RunPoint> points_;
  std::vector<double> values_;
  std::vector<float> copy_shares_, floor_shares_;
};

float MeanShare(float a, float b, double weight_of_b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return static_cast<float>(a * (1 - weight_of_b) + b * weight_of_b);
}

// A night may come in parts: what retention has kept, and runs that were merged later. Values are
// weighted by runs, since the median of all of them is not known any more.
void JoinParts(std::vector<NightValue>& nights) {
  std::stable_sort(nights.begin(), nights.end(),
                   [](const NightValue& a, const NightValue& b) { return a.day < b.day; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < nights.size(); ++i) {
    const NightValue& part = nights[i];
    NightValue& whole = nights[last];
    if (part.day != whole.day) {
      nights[++last] = part;
      continue;
    }
    if (part.runs > 0) {
      const double weight = static_cast<double>(part.runs) / (part.runs + whole.runs);
      whole.seconds = whole.seconds * (1 - weight) + part.seconds * weight;
      whole.low = whole.runs > 0 ? std::min(whole.low, part.low) : part.low;
      whole.high = std::max(whole.high, part.high);
      whole.copy_share = MeanShare(whole.copy_share, part.copy_share, weight);
      whole.floor_share = MeanShare(whole.floor_share, part.floor_share, weight);
    }
    whole.runs += part.runs;
    whole.invalid += part.invalid;
    whole.failed += part.failed;
    whole.samples += part.samples;
  }
  if (!nights.empty()) nights.resize(last + 1);
}

// What retention has kept, before the nights that still have runs.
Status AddKeptNights(Sqlite& db, const SeriesFilter& filter,
                     std::map<SeriesId, NightSeries>& found) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db.Query(std::string("SELECT p.series, n.night, p.runs, p.samples, p.seconds, p.low, p.high, "
                           "p.copy_share, p.floor_share, p.unit FROM night_points p "
                           "JOIN nights n ON n.record = p.record WHERE p.seconds IS NOT NULL AND "
                           "n.night >= ?4 AND p.series IN ") +
                   kSeriesOfFilter + " ORDER BY p.series, n.night",
               filter.architecture, filter.environment, filter.case_id, filter.since));
  while (rows.Next()) {
    NightSeries& series = found[rows.Int(0)];
    NightValue night{.day = DayOf(rows.Text(1)), .runs = static_cast<std::int32_t>(rows.Int(2))};
    night.samples = rows.Int(3);
    night.seconds = rows.Real(4);
    night.low = rows.Real(5);
    night.high = rows.Real(6);
    night.copy_share = static_cast<float>(rows.OptionalReal(7).value_or(-1));
    night.floor_share = static_cast<float>(rows.OptionalReal(8).value_or(-1));
    series.nights.push_back(night);
    series.unit = rows.Text(9);
  }
  return rows.status();
}

// The newest point of a series that has a time.
struct NewestPoint {
  std::int64_t record = 0;  // 0: none
  std::int64_t time = 0;
};

// Its unit and command.
Status AddLabels(Sqlite& db, const std::map<SeriesId, NewestPoint>& newest,
                 std::map<SeriesId, NightSeries>& found) {
  for (const auto& [id, point] : newest) {
    if (point.record == 0) continue;
    DM_ASSIGN_OR_RETURN(
        SqliteRows rows,
        db.Query("SELECT unit, (SELECT text FROM texts WHERE id = reproduce) FROM points "
                 "WHERE series = ? AND record = ?",
                 id, point.record));
    if (rows.Next()) {
      found[id].unit = rows.Text(0);
      found[id].reproduce = rows.Text(1);
    }
    DM_RETURN_IF_ERROR(rows.status());
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<TrendPoint>> HistoryReader::Trend(SeriesId series, const std::string& since) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT r.uid, r.time, u.night, u.commit_id, u.valid, p.seconds, p.median, "
                 "p.samples, p.voided, p.unit, (SELECT text FROM texts WHERE id = p.marks), "
                 "(SELECT text FROM texts WHERE id = p.failure), "
                 "(SELECT text FROM texts WHERE id = p.reproduce), p.bytes_per_second, "
                 "p.flops_per_second, p.copy_share, p.floor_share "
                 "FROM points p JOIN runs u ON u.record = p.record JOIN records r ON r.id = "
                 "p.record WHERE p.series = ? AND u.night >= ? ORDER BY u.night, r.time, r.uid",
                 series, since));
  std::vector<TrendPoint> found;
  while (rows.Next()) {
    TrendPoint trend;
    trend.run = rows.Text(0);
    trend.time = rows.Int(1);
    trend.night = rows.Text(2);
    trend.commit = rows.Text(3);
    trend.valid = rows.Int(4) != 0;
    Point& p = trend.point;
    p.seconds = rows.OptionalReal(5);
    p.median = rows.OptionalReal(6);
    p.samples = rows.Int(7);
    p.voided = rows.Int(8);
    p.unit = rows.Text(9);
    p.marks = rows.Text(10);
    p.failure = rows.Text(11);
    p.reproduce = rows.Text(12);
    p.bytes_per_second = rows.OptionalReal(13);
    p.flops_per_second = rows.OptionalReal(14);
    p.copy_share = rows.OptionalReal(15);
    p.floor_share = rows.OptionalReal(16);
    found.push_back(std::move(trend));
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<NightSeries>> HistoryReader::Nights(const SeriesFilter& filter) {
  std::map<SeriesId, NightSeries> found;
  DM_RETURN_IF_ERROR(AddKeptNights(*db_, filter, found));
  DM_ASSIGN_OR_RETURN(const auto runs, LoadRuns(*db_));
  const std::int32_t first_day = FirstDay(filter.since);
  std::map<SeriesId, NewestPoint> newest;
  {
    // In the order of the primary key, so that a series comes in one piece.
    DM_ASSIGN_OR_RETURN(
        SqliteRows rows,
        db_->Query(std::string("SELECT series, record, seconds, samples, failure, copy_share, "
                               "floor_share FROM points WHERE series IN ") +
                       kSeriesOfFilter + " ORDER BY series",
                   filter.architecture, filter.environment, filter.case_id));
    NightMaker maker;
    SeriesId current = 0;
    NewestPoint* newest_point = nullptr;
    const auto finish = [&] {
      if (!maker.empty()) maker.Finish(found[current].nights);
    };
    while (rows.Next()) {
      if (rows.Int(0) != current) {
        finish();
        current = rows.Int(0);
        newest_point = &newest[current];
      }
      const auto run = runs.find(rows.Int(1));
      if (run == runs.end() || run->second.day < first_day) continue;
      const bool failed = !rows.IsNull(4);
      const std::optional<double> seconds = rows.OptionalReal(2);
      if (!seconds && !failed) continue;  // counts only
      if (seconds && run->second.time >= newest_point->time) {
        *newest_point = {rows.Int(1), run->second.time};
      }
      maker.Add(run->second, seconds, failed, rows.Int(3), rows.OptionalReal(5),
                rows.OptionalReal(6));
    }
    finish();
    DM_RETURN_IF_ERROR(rows.status());
  }
  DM_RETURN_IF_ERROR(AddLabels(*db_, newest, found));
  DM_ASSIGN_OR_RETURN(const std::vector<SeriesRow> all, Series(filter));
  std::vector<NightSeries> answer;
  for (const SeriesRow& row : all) {
    const auto at = found.find(row.id);
    if (at == found.end()) continue;
    at->second.series = row;
    JoinParts(at->second.nights);
    answer.push_back(std::move(at->second));
  }
  return answer;
}

StatusOr<std::vector<NightRow>> HistoryReader::NightRuns(const SeriesFilter& filter) {
  std::map<std::pair<EnvironmentId, std::int32_t>, NightRow> nights;
  constexpr std::string_view kWhere =
      "WHERE (?1 = '' OR e.architecture = ?1) AND (?2 IS NULL OR e.id = ?2) AND x.night >= ?3 "
      "ORDER BY r.time, r.uid";
  for (const bool raw : {false, true}) {
    DM_ASSIGN_OR_RETURN(
        SqliteRows rows,
        db_->Query(std::string("SELECT x.environment, x.night, x.commit_id, r.uid FROM ") +
                       (raw ? "runs" : "nights") +
                       " x JOIN records r ON r.id = x.record JOIN environments e ON e.id = "
                       "x.environment " +
                       std::string(kWhere),
                   filter.architecture, filter.environment, filter.since));
    while (rows.Next()) {
      const std::int32_t day = DayOf(rows.Text(1));
      NightRow& night = nights[{rows.Int(0), day}];
      night.environment = rows.Int(0);
      night.day = day;
      night.commit = rows.Text(2);
      if (raw) night.runs.push_back(rows.Text(3));
    }
    DM_RETURN_IF_ERROR(rows.status());
  }
  std::vector<NightRow> answer;
  answer.reserve(nights.size());
  for (auto& [key, night] : nights) answer.push_back(std::move(night));
  return answer;
}

}  // namespace draftmark
