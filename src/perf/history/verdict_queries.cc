// Verdicts, conformance, A/A quality, accepted changes and releases of history_reader.h.
#include <algorithm>
#include <map>
#include <utility>

#include "src/perf/history/history_reader.h"
#include "src/perf/history/record_rows.h"

namespace draftmark {
namespace {

// Of every case the newest result of its architecture, precision, backend and variant.
constexpr char kNewestConformance[] =
    "SELECT r.uid, u.commit_id, e.architecture, x.operation, max(r.time), c.name, x.precision, "
    "x.backend, x.variant, x.status, x.used_share, x.signature, x.waiver, x.expires, "
    "(SELECT text FROM texts WHERE id = x.reproduce) "
    "FROM conformance x JOIN runs u ON u.record = x.record JOIN records r ON r.id = x.record "
    "JOIN environments e ON e.id = u.environment JOIN cases c ON c.id = x.case_id "
    "WHERE (?1 = '' OR e.architecture = ?1) AND (?2 = '' OR x.operation = ?2) "
    "GROUP BY e.architecture, x.case_id, x.precision, x.backend, x.variant "
    "ORDER BY x.operation, e.architecture, c.name, x.precision, x.backend, x.variant";

// The records of a kind, oldest first, as they were written.
template <typename T>
StatusOr<std::vector<T>> AllOf(Sqlite& db, std::string_view kind) {
  std::vector<std::string> ids;
  {
    DM_ASSIGN_OR_RETURN(
        SqliteRows rows,
        db.Query("SELECT uid FROM records WHERE kind = ? ORDER BY time, uid", kind));
    while (rows.Next()) ids.push_back(rows.Text(0));
    DM_RETURN_IF_ERROR(rows.status());
  }
  std::vector<T> all;
  for (const std::string& id : ids) {
    DM_ASSIGN_OR_RETURN(HistoryRecord record, ReadRecord(db, id));
    all.push_back(std::move(std::get<T>(record)));
  }
  return all;
}

GateVerdict VerdictOf(const SqliteRows& rows, int first) {
  GateVerdict v;
  int i = first;
  v.case_id = rows.Text(i++);
  v.schema = rows.Int(i++);
  v.metric = rows.Text(i++);
  v.verdict = rows.Text(i++);
  v.reason = rows.Text(i++);
  v.ratio = rows.OptionalReal(i++);
  v.ci_low = rows.OptionalReal(i++);
  v.ci_high = rows.OptionalReal(i++);
  v.p = rows.OptionalReal(i++);
  v.variation = rows.OptionalReal(i++);
  v.detectable = rows.OptionalReal(i++);
  v.floor = rows.OptionalReal(i++);
  v.base = rows.OptionalReal(i++);
  v.next = rows.OptionalReal(i++);
  v.base_runs = rows.Int(i++);
  v.next_runs = rows.Int(i++);
  v.old_count = rows.OptionalInt(i++);
  v.new_count = rows.OptionalInt(i++);
  if (const auto confirmed = rows.OptionalInt(i++)) v.confirmed = *confirmed != 0;
  v.reproduce = rows.Text(i);
  return v;
}

}  // namespace

StatusOr<std::vector<VerdictRow>> HistoryReader::NewestVerdicts(const SeriesFilter& filter) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query(
          "SELECT r.uid, max(r.time), g.mode, g.base_commit, g.next_commit, g.advisory, "
          "s.environment, s.id, c.name, s.schema, x.metric, x.verdict, "
          "(SELECT text FROM texts WHERE id = x.reason), x.ratio, x.ci_low, x.ci_high, x.p, "
          "x.variation, x.detectable, x.floor, x.base, x.next, x.base_runs, x.next_runs, "
          "x.old_count, x.new_count, x.confirmed, (SELECT text FROM texts WHERE id = x.reproduce) "
          "FROM gate_verdicts x JOIN gates g ON g.record = x.record "
          "JOIN records r ON r.id = x.record JOIN series s ON s.id = x.series "
          "JOIN cases c ON c.id = s.case_id JOIN environments e ON e.id = s.environment "
          "WHERE (?1 = '' OR e.architecture = ?1) AND (?2 IS NULL OR s.environment = ?2) "
          "AND (?3 = '' OR c.name = ?3) GROUP BY x.series, x.metric "
          "ORDER BY 2 DESC, c.name, s.schema, x.metric, s.id",
          filter.architecture, filter.environment, filter.case_id));
  std::vector<VerdictRow> found;
  while (rows.Next()) {
    found.push_back({rows.Text(0), rows.Int(1), rows.Text(2), rows.Text(3), rows.Text(4),
                     rows.Int(5) != 0, rows.Int(6), rows.Int(7), VerdictOf(rows, 8)});
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<GateRow>> HistoryReader::Gates(std::size_t limit) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT r.uid, r.time, g.night, g.mode, g.base_commit, g.next_commit, g.verdict, "
                 "g.command, g.exit_code, g.advisory, g.environment, "
                 "(SELECT count(*) FROM gate_verdicts WHERE record = g.record), "
                 "(SELECT count(*) FROM gate_verdicts WHERE record = g.record AND verdict = "
                 "'slower') FROM gates g JOIN records r ON r.id = g.record "
                 "ORDER BY r.time DESC, r.uid LIMIT ?",
                 limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit)));
  std::vector<GateRow> found;
  while (rows.Next()) {
    found.push_back({rows.Text(0), rows.Int(1), rows.Text(2), rows.Text(3), rows.Text(4),
                     rows.Text(5), rows.Text(6), rows.Text(7), rows.Int(8), rows.Int(9) != 0,
                     rows.Int(10), rows.Int(11), rows.Int(12)});
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<ChangePointRow>> HistoryReader::ChangePoints(const SeriesFilter& filter) {
  // The same step is found again every night; the newest word on it counts.
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT r.uid, max(r.time), s.id, s.environment, c.name, s.schema, x.night, "
                 "x.commit_id, x.before, x.after, x.confirmed FROM change_points x "
                 "JOIN records r ON r.id = x.record JOIN series s ON s.id = x.series "
                 "JOIN cases c ON c.id = s.case_id JOIN environments e ON e.id = s.environment "
                 "WHERE (?1 = '' OR e.architecture = ?1) AND (?2 IS NULL OR s.environment = ?2) "
                 "AND (?3 = '' OR c.name = ?3) AND x.night >= ?4 GROUP BY x.series, x.night "
                 "ORDER BY x.night DESC, c.name, s.schema, s.id",
                 filter.architecture, filter.environment, filter.case_id, filter.since));
  std::vector<ChangePointRow> found;
  while (rows.Next()) {
    found.push_back({rows.Text(0),
                     rows.Int(2),
                     rows.Int(3),
                     {rows.Text(4), rows.Int(5), rows.Text(6), rows.Text(7), rows.Real(8),
                      rows.Real(9), rows.Int(10) != 0}});
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<AaRow>> HistoryReader::AaQuality(std::int64_t since_time) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT s.environment, c.name, s.schema, sum(x.comparisons), "
                 "sum(x.false_alarms), sum(x.unclear), sum(x.invalid), "
                 // Without a verdict a record knows of no spread, and hides none of before.
                 "coalesce((SELECT y.spread FROM aa_results y JOIN records q ON q.id = y.record "
                 "WHERE y.series = x.series AND y.comparisons > 0 AND q.time >= ?1 ORDER BY q.time "
                 "DESC, q.uid DESC LIMIT 1), 0), "
                 "coalesce((SELECT y.detectable FROM aa_results y JOIN records q ON q.id = "
                 "y.record WHERE y.series = x.series AND y.comparisons > 0 AND q.time >= ?1 ORDER "
                 "BY q.time DESC, q.uid DESC LIMIT 1), 0), "
                 "max(r.time) FROM aa_results x JOIN records r ON r.id = x.record "
                 "JOIN series s ON s.id = x.series JOIN cases c ON c.id = s.case_id "
                 "WHERE r.time >= ?1 GROUP BY x.series ORDER BY s.environment, c.name, s.schema",
                 since_time));
  std::vector<AaRow> found;
  while (rows.Next()) {
    found.push_back({rows.Int(0), rows.Text(1), rows.Int(2), rows.Int(3), rows.Int(4), rows.Int(5),
                     rows.Int(6), rows.Real(7), rows.Real(8), rows.Int(9)});
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<ConformanceRow>> HistoryReader::Conformance(const std::string& architecture,
                                                                 const std::string& operation) {
  DM_ASSIGN_OR_RETURN(SqliteRows rows, db_->Query(kNewestConformance, architecture, operation));
  std::vector<ConformanceRow> found;
  while (rows.Next()) {
    ConformanceRow row{rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3), rows.Int(4), {}};
    ConformanceResult& result = row.result;
    result.case_id = rows.Text(5);
    result.precision = rows.Text(6);
    result.backend = rows.Text(7);
    result.variant = rows.Text(8);
    result.status = rows.Text(9);
    result.used_share = rows.OptionalReal(10);
    result.signature = rows.Text(11);
    result.waiver = rows.Text(12);
    result.expires = rows.Text(13);
    result.reproduce = rows.Text(14);
    found.push_back(std::move(row));
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<ConformanceCell>> HistoryReader::ConformanceMatrix() {
  DM_ASSIGN_OR_RETURN(const std::vector<ConformanceRow> rows, Conformance());
  std::map<std::pair<std::string, std::string>, ConformanceCell> cells;
  for (const ConformanceRow& row : rows) {
    ConformanceCell& cell = cells[{row.operation, row.architecture}];
    cell.operation = row.operation;
    cell.architecture = row.architecture;
    ++cell.cases;
    if (IsConformanceFailure(row.result.status)) ++cell.failed;
    if (!row.result.waiver.empty()) ++cell.waived;
    const std::optional<double>& share = row.result.used_share;
    if (share && (!cell.used_share || *share > *cell.used_share)) {
      cell.used_share = share;
      cell.worst_case = row.result.case_id;
    }
    if (row.time >= cell.time) {
      cell.time = row.time;
      cell.run = row.run;
      cell.commit = row.commit;
    }
  }
  std::vector<ConformanceCell> answer;
  answer.reserve(cells.size());
  for (auto& [key, cell] : cells) answer.push_back(std::move(cell));
  return answer;
}

StatusOr<std::vector<AcceptRecord>> HistoryReader::Accepts() {
  return AllOf<AcceptRecord>(*db_, "accept");
}
StatusOr<std::vector<ReleaseRecord>> HistoryReader::Releases() {
  return AllOf<ReleaseRecord>(*db_, "release");
}

}  // namespace draftmark
