#include "src/perf/history/history_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/perf/history/record_rows.h"
#include "src/perf/history/schema.h"

namespace draftmark {
namespace {

constexpr std::size_t kFewestDigits = 4;

// Numbers that are far too many for a limit mean none.
std::int64_t LimitOf(std::size_t limit) {
  return limit == 0 ? -1 : static_cast<std::int64_t>(std::min<std::size_t>(limit, 1u << 30));
}

}  // namespace

StatusOr<HistoryReader> HistoryReader::Open(const std::string& database, FileSystem& files) {
  if (!files.IsFile(database)) {
    return NotFoundError(
        fmt::format("{}: no such history; `draftmark history import --db {} FILE...` makes one",
                    database, database));
  }
  DM_ASSIGN_OR_RETURN(Sqlite db, Sqlite::Open(database, SqliteMode::kReadOnly));
  const Status status = CheckHistorySchema(db);
  if (status.ok()) return HistoryReader(std::move(db));
  // A write-ahead log needs a file for locks beside the database. Where none can be made, and the
  // log is empty or not there, nobody writes.
  if (status.code() != StatusCode::kUnavailable) return status;
  if (files.IsFile(database + "-wal")) {
    const auto log = files.Map(database + "-wal");
    if (!log.ok() || !(*log)->bytes().empty()) return status;
  }
  DM_ASSIGN_OR_RETURN(Sqlite immutable, Sqlite::Open(database, SqliteMode::kImmutable));
  DM_RETURN_IF_ERROR(CheckHistorySchema(immutable));
  return HistoryReader(std::move(immutable));
}

StatusOr<std::vector<EnvironmentRow>> HistoryReader::Environments() {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT e.id, e.architecture, e.gpu, e.driver, e.cuda, e.clocks, "
                 "(SELECT count(*) FROM runs WHERE environment = e.id), "
                 "max(coalesce((SELECT max(r.time) FROM runs u JOIN records r ON r.id = u.record "
                 "WHERE u.environment = e.id), 0), "
                 "coalesce((SELECT max(r.time) FROM nights n JOIN records r ON r.id = n.record "
                 "WHERE n.environment = e.id), 0)) FROM environments e "
                 "ORDER BY e.architecture, e.gpu, e.driver, e.cuda, e.clocks"));
  std::vector<EnvironmentRow> found;
  while (rows.Next()) {
    found.push_back({rows.Int(0),
                     {rows.Text(1), rows.Text(2), rows.Text(3), rows.Text(4), rows.Text(5)},
                     rows.Int(6),
                     rows.Int(7)});
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::vector<SeriesRow>> HistoryReader::Series(const SeriesFilter& filter) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT s.id, s.environment, c.name, s.schema FROM series s "
                 "JOIN cases c ON c.id = s.case_id JOIN environments e ON e.id = s.environment "
                 "WHERE (?1 = '' OR e.architecture = ?1) AND (?2 IS NULL OR s.environment = ?2) "
                 "AND (?3 = '' OR c.name = ?3) ORDER BY c.name, s.schema, e.architecture, s.id",
                 filter.architecture, filter.environment, filter.case_id));
  std::vector<SeriesRow> found;
  while (rows.Next()) found.push_back({rows.Int(0), rows.Int(1), rows.Text(2), rows.Int(3)});
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

StatusOr<std::string> HistoryReader::FindId(const std::string& prefix) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (prefix.size() < kFewestDigits || !std::all_of(prefix.begin(), prefix.end(), is_digit)) {
    return InvalidArgumentError(
        fmt::format("\"{}\": expected an id of the history, or its first {} digits or more, as "
                    "`draftmark history list` shows it",
                    prefix, kFewestDigits));
  }
  // 'g' is behind every hexadecimal digit.
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT uid FROM records WHERE uid >= ?1 AND uid < ?1 || 'g' ORDER BY uid LIMIT 2",
                 prefix));
  std::vector<std::string> ids;
  while (rows.Next()) ids.push_back(rows.Text(0));
  DM_RETURN_IF_ERROR(rows.status());
  if (ids.empty()) {
    return NotFoundError(fmt::format("{}: no record has the id {}", db_->path(), prefix));
  }
  if (ids.size() > 1) {
    return InvalidArgumentError(
        fmt::format("{}: the id {} is ambiguous: {}, {}", db_->path(), prefix, ids[0], ids[1]));
  }
  return ids[0];
}

StatusOr<HistoryRecord> HistoryReader::Record(const std::string& prefix) {
  DM_ASSIGN_OR_RETURN(const std::string uid, FindId(prefix));
  return ReadRecord(*db_, uid);
}

StatusOr<RunRecord> HistoryReader::Run(const std::string& prefix) {
  DM_ASSIGN_OR_RETURN(HistoryRecord record, Record(prefix));
  if (auto* const run = std::get_if<RunRecord>(&record)) return std::move(*run);
  return InvalidArgumentError(fmt::format("{}: {}: expected the id of a run, found that of a {}",
                                          db_->path(), prefix, KindOf(record)));
}

StatusOr<std::vector<RunRow>> HistoryReader::Runs(const RunFilter& filter) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query("SELECT r.uid, r.time, u.night, u.commit_id, u.program, u.session, u.number, "
                 "u.environment, u.valid, u.reason, u.command, "
                 "(SELECT count(*) FROM points WHERE record = u.record), "
                 "(SELECT count(*) FROM conformance WHERE record = u.record), "
                 "(SELECT count(*) FROM conformance WHERE record = u.record "
                 "AND status NOT IN ('PASS', 'XFAIL')), "
                 "(SELECT count(*) FROM suites WHERE record = u.record), "
                 "(SELECT count(*) FROM suites WHERE record = u.record "
                 "AND (problem <> '' OR (failed > 0 AND u.program <> ?8))), "
                 "(SELECT coalesce(group_concat(name, ', '), '') FROM suites WHERE record = "
                 "u.record AND (problem <> '' OR (failed > 0 AND u.program <> ?8))) "
                 "FROM runs u JOIN records r ON r.id = u.record JOIN environments e ON e.id = "
                 "u.environment WHERE (?1 IS NULL OR u.environment = ?1) "
                 "AND (?2 = '' OR e.architecture = ?2) AND (?3 = '' OR u.program = ?3) "
                 "AND (?4 = '' OR u.session = ?4) AND (?5 = '' OR u.night = ?5) "
                 "AND (?6 = '' OR substr(u.commit_id, 1, length(?6)) = ?6) "
                 "ORDER BY r.time DESC, u.session, u.number, r.uid LIMIT ?7",
                 filter.environment, filter.architecture, filter.program, filter.session,
                 filter.night, filter.commit, LimitOf(filter.limit), kBenchProgram));
  std::vector<RunRow> found;
  while (rows.Next()) {
    RunRow run;
    run.id = rows.Text(0);
    run.time = rows.Int(1);
    run.night = rows.Text(2);
    run.commit = rows.Text(3);
    run.program = rows.Text(4);
    run.session = rows.Text(5);
    run.number = rows.Int(6);
    run.environment = rows.Int(7);
    run.valid = rows.Int(8) != 0;
    run.reason = rows.Text(9);
    run.command = rows.Text(10);
    run.points = rows.Int(11);
    run.conformance = rows.Int(12);
    run.conformance_failed = rows.Int(13);
    run.suites = rows.Int(14);
    run.suites_failed = rows.Int(15);
    run.failed_suites = rows.Text(16);
    found.push_back(std::move(run));
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

}  // namespace draftmark
