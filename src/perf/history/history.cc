#include "src/perf/history/history.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "src/base/stale_temporaries.h"
#include "src/perf/history/schema.h"

namespace draftmark {
namespace {

constexpr std::string_view kExtension = ".jsonl";

// Ids that need no file to be read: records, and runs that a night has replaced.
StatusOr<std::unordered_set<std::string>> KnownIds(Sqlite& db) {
  std::unordered_set<std::string> ids;
  DM_ASSIGN_OR_RETURN(SqliteRows rows,
                      db.Query("SELECT uid FROM records UNION SELECT uid FROM replaced_runs"));
  while (rows.Next()) ids.insert(rows.Text(0));
  DM_RETURN_IF_ERROR(rows.status());
  return ids;
}

}  // namespace

std::string RunsFolderOf(const std::string& database) { return database + ".runs"; }
std::string RecordFileName(const std::string& uid) { return uid + std::string(kExtension); }

StatusOr<std::vector<std::string>> ListRecordFiles(const std::string& folder, FileSystem& files) {
  std::vector<std::string> names;
  if (!files.IsDirectory(folder)) return names;
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> all, files.List(folder));
  for (const std::string& name : all) {
    if (name.ends_with(kExtension) && !IsTemporaryName(name)) names.push_back(name);
  }
  return names;
}

StatusOr<ParsedRecord> ReadRecordFile(const std::string& path, FileSystem& files) {
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, files, kLargestRecordFile));
  return ParseRecordJsonl(text, path);
}

StatusOr<Sqlite> OpenHistoryDatabase(const std::string& database) {
  DM_ASSIGN_OR_RETURN(Sqlite db, Sqlite::Open(database, SqliteMode::kCreate));
  // Of another program's or a newer database not even the journal mode may change.
  DM_RETURN_IF_ERROR(MigrateHistory(db));
  DM_RETURN_IF_ERROR(db.RunPatiently("PRAGMA journal_mode = WAL"));
  // The JSONL file is synced, so a power cut may take the last transactions, but nothing with them.
  DM_RETURN_IF_ERROR(db.Run("PRAGMA synchronous = NORMAL"));
  return db;
}

History::History(std::string database, FileSystem& files)
    : database_(std::move(database)), folder_(RunsFolderOf(database_)), files_(&files) {}

StatusOr<History> History::Open(const std::string& database, FileSystem& files) {
  History history(database, files);
  DM_ASSIGN_OR_RETURN(Sqlite db, OpenHistoryDatabase(database));
  history.db_ = std::make_unique<Sqlite>(std::move(db));
  DM_RETURN_IF_ERROR(files.CreateDirectories(history.folder_));
  RemoveStaleTemporaries(history.folder_);  // of a writer that was killed
  DM_RETURN_IF_ERROR(history.SettleDropped());
  DM_RETURN_IF_ERROR(history.TakeIn());
  return StatusOr<History>(std::move(history));
}

Status History::TakeIn() {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListRecordFiles(folder_, *files_));
  DM_ASSIGN_OR_RETURN(const std::unordered_set<std::string> known, KnownIds(*db_));
  for (const std::string& name : names) {
    if (known.contains(name.substr(0, name.size() - kExtension.size()))) continue;
    const std::string path = JoinPath(folder_, name);
    const StatusOr<ParsedRecord> parsed = ReadRecordFile(path, *files_);
    if (!parsed.ok()) {
      problems_.push_back(parsed.status().message());
      continue;
    }
    if (RecordFileName(parsed->uid) != name) {
      problems_.push_back(fmt::format("{}: expected the name {}, since that is the record's id",
                                      path, RecordFileName(parsed->uid)));
      continue;
    }
    DM_ASSIGN_OR_RETURN(const AddOutcome outcome, AddRows(*parsed));
    if (outcome == AddOutcome::kAdded) ++recovered_;
  }
  return OkStatus();
}

// One record, one transaction.
StatusOr<AddOutcome> History::AddRows(const ParsedRecord& parsed) {
  SqliteTransaction transaction(*db_);
  DM_RETURN_IF_ERROR(transaction.Begin());
  if (IsDropped(database_, parsed.uid, *files_)) return AddOutcome::kDropped;
  RowWriter writer(*db_);
  DM_ASSIGN_OR_RETURN(const AddOutcome outcome, writer.Add(parsed));
  DM_RETURN_IF_ERROR(transaction.Commit());
  return outcome;
}

// That the id, on disk or in the database, is not another record's.
Status History::CheckIsTheSame(const RecordText& written, const std::string& path, bool on_disk) {
  std::string there;
  if (on_disk) {
    DM_ASSIGN_OR_RETURN(const ParsedRecord parsed, ReadRecordFile(path, *files_));
    there = parsed.sha256;
  } else {
    DM_ASSIGN_OR_RETURN(SqliteRows rows,
                        db_->Query("SELECT sha256 FROM records WHERE uid = ?", written.uid));
    if (rows.Next()) there = rows.Text(0);
    DM_RETURN_IF_ERROR(rows.status());
  }
  if (there.empty() || there == written.sha256) return OkStatus();
  return FailedPreconditionError(
      fmt::format("{}: another record with this id is there: the same file was imported with other "
                  "facts about it (commit, clocks, time); what is there stays",
                  path));
}

StatusOr<Added> History::Write(const RecordText& written, const ParsedRecord& parsed) {
  if (IsDropped(database_, written.uid, *files_)) return Added{written.uid, AddOutcome::kDropped};
  const std::string path = JoinPath(folder_, RecordFileName(written.uid));
  const bool on_disk = files_->IsFile(path);
  DM_RETURN_IF_ERROR(CheckIsTheSame(written, path, on_disk));
  if (!on_disk) {
    // What retention has dropped must not come back as a file either.
    DM_ASSIGN_OR_RETURN(
        const std::optional<std::int64_t> replaced,
        db_->OneInt("SELECT count(*) FROM replaced_runs WHERE uid = ?", written.uid));
    if (replaced.value_or(0) > 0) return Added{written.uid, AddOutcome::kReplaced};
    DM_RETURN_IF_ERROR(WriteTextFile(path, written.text, *files_));
  }
  const StatusOr<AddOutcome> outcome = AddRows(parsed);
  if (!outcome.ok()) {
    return Status(outcome.status().code(),
                  fmt::format("{}; the record is safe in {}, and the next command that opens the "
                              "history for writing takes it in",
                              outcome.status().message(), path));
  }
  // Someone has dropped it since this began.
  if (*outcome == AddOutcome::kDropped) DM_RETURN_IF_ERROR(Bury(written.uid));
  return Added{written.uid, *outcome};
}

StatusOr<Added> History::Add(const HistoryRecord& record) {
  DM_ASSIGN_OR_RETURN(const RecordText written, RecordToJsonl(record));
  ParsedRecord parsed{record, written.uid, written.sha256};
  Canonicalize(parsed.record);
  return Write(written, parsed);
}

StatusOr<Added> History::AddText(std::string_view text, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const ParsedRecord parsed, ParseRecordJsonl(text, source));
  return Write({parsed.uid, parsed.sha256, std::string(text)}, parsed);
}

}  // namespace draftmark
