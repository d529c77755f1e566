// CheckHistory of history_rebuild.h.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "src/perf/history/history_reader.h"
#include "src/perf/history/history_rebuild.h"

namespace draftmark {
namespace {

// The answers of one of SQLite's own checks; "ok" is none.
Status AddAnswers(Sqlite& db, std::string_view pragma, std::vector<std::string>& problems) {
  DM_ASSIGN_OR_RETURN(SqliteRows rows, db.Query(pragma));
  while (rows.Next()) {
    if (rows.Text(0) != "ok") {
      problems.push_back(DamagedDatabaseError(db.path(), rows.Text(0)).message());
    }
  }
  return rows.status();
}

struct Ids {
  std::set<std::string> records, replaced;
};

StatusOr<Ids> ReadIds(Sqlite& db) {
  Ids ids;
  for (auto& [sql, into] : {std::pair{"SELECT uid FROM records", &ids.records},
                            std::pair{"SELECT uid FROM replaced_runs", &ids.replaced}}) {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, db.Query(sql));
    while (rows.Next()) into->insert(rows.Text(0));
    DM_RETURN_IF_ERROR(rows.status());
  }
  return ids;
}

// Whether the database would write the file that is there.
Status Compare(Sqlite& db, const std::string& uid, const std::string& path, FileSystem& files) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, files, kLargestRecordFile));
  DM_RETURN_IF_ERROR(ParseRecordJsonl(text, path).status());
  DM_ASSIGN_OR_RETURN(HistoryRecord record, ReadRecord(db, uid));
  DM_ASSIGN_OR_RETURN(const RecordText written, RecordToJsonl(std::move(record)));
  if (written.text == text) return OkStatus();
  return DataLossError(fmt::format("{}: the database has another content", path));
}

// Each dropped record has a tombstone, its file, and no place in the history.
Status CheckDropped(const std::string& database, const Ids& ids,
                    const std::set<std::string>& on_disk, FileSystem& files,
                    std::vector<std::string>& problems) {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> dropped, DroppedIds(database, files));
  for (const std::string& uid : dropped) {
    if (const auto tombstone = ReadTombstone(database, uid, files); !tombstone.ok()) {
      problems.push_back(tombstone.status().message());
    }
    if (ids.records.contains(uid) || on_disk.contains(RecordFileName(uid))) {
      problems.push_back(
          fmt::format("{}: dropped, but still there; the next command that opens the history for "
                      "writing takes it out",
                      TombstonePath(database, uid)));
    } else if (const auto parsed = ReadRecordFile(DroppedRecordPath(database, uid), files);
               !parsed.ok()) {
      problems.push_back(parsed.status().message());
    }
  }
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      ListRecordFiles(DroppedFolderOf(database), files));
  for (const std::string& name : names) {
    if (IsDropped(database, name.substr(0, name.rfind('.')), files)) continue;
    problems.push_back(
        fmt::format("{}: restored by half; the next command that opens the history for writing "
                    "takes it in",
                    JoinPath(DroppedFolderOf(database), name)));
  }
  return OkStatus();
}

}  // namespace

StatusOr<CheckReport> CheckHistory(const std::string& database, FileSystem& files) {
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(database, files));
  Sqlite& db = reader.db();
  CheckReport report;
  DM_RETURN_IF_ERROR(AddAnswers(db, "PRAGMA integrity_check(10)", report.problems));
  DM_RETURN_IF_ERROR(AddAnswers(db, "PRAGMA foreign_key_check", report.problems));
  const std::string folder = RunsFolderOf(database);
  DM_ASSIGN_OR_RETURN(const Ids ids, ReadIds(db));
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListRecordFiles(folder, files));
  const std::set<std::string> on_disk(names.begin(), names.end());
  report.records = ids.records.size();
  for (const std::string& uid : ids.records) {
    const std::string path = JoinPath(folder, RecordFileName(uid));
    if (!on_disk.contains(RecordFileName(uid))) {
      report.problems.push_back(fmt::format(
          "{}: gone, but in the database; `draftmark history rebuild --db {}` writes it "
          "again",
          path, database));
      continue;
    }
    if (const Status status = Compare(db, uid, path, files); !status.ok()) {
      report.problems.push_back(status.message());
    }
  }
  DM_RETURN_IF_ERROR(CheckDropped(database, ids, on_disk, files, report.problems));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    const std::string uid = name.substr(0, name.rfind('.'));
    if (ids.records.contains(uid) || IsDropped(database, uid, files)) continue;
    if (ids.replaced.contains(uid)) {
      report.problems.push_back(
          fmt::format("{}: retention has dropped it, but the file is still there", path));
    } else if (const auto parsed = ReadRecordFile(path, files); !parsed.ok()) {
      report.problems.push_back(parsed.status().message());
    } else {
      report.problems.push_back(
          fmt::format("{}: not in the database; the next command that opens it for writing takes "
                      "it in",
                      path));
    }
  }
  return report;
}

}  // namespace draftmark
