// History::Drop and Restore, and how what a killed one has left is brought to its end. The
// tombstone is what decides, and is written and removed in one step; everything else follows it.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "src/base/errno_status.h"
#include "src/perf/history/history.h"

namespace draftmark {
namespace {

namespace fs = std::filesystem;

Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);  // no error where somebody else has done it
  return error ? ErrnoStatus(error.value(), "remove", path) : OkStatus();
}

Status DeleteRows(Sqlite& db, const std::string& uid) {
  return db.Run("DELETE FROM records WHERE uid = ?", uid);
}

}  // namespace

// The record's file goes from the runs to the dropped ones, unless one is there already.
Status History::Bury(const std::string& uid) {
  const std::string from = JoinPath(folder_, RecordFileName(uid));
  const std::string to = DroppedRecordPath(database_, uid);
  if (!files_->IsFile(from)) return OkStatus();
  if (files_->IsFile(to)) return Remove(from);
  std::error_code error;
  fs::rename(from, to, error);
  if (!error || error == std::errc::no_such_file_or_directory) return OkStatus();
  return ErrnoStatus(error.value(), "rename " + from + " to", to);
}

// A file that retention or a user has taken away is written again from the rows.
Status History::KeepFile(const std::string& uid) {
  const std::string path = JoinPath(folder_, RecordFileName(uid));
  if (files_->IsFile(path)) return ReadRecordFile(path, *files_).status();
  DM_ASSIGN_OR_RETURN(const HistoryRecord record, ReadRecord(*db_, uid));
  DM_ASSIGN_OR_RETURN(const RecordText text, RecordToJsonl(record));
  if (text.uid == uid) return WriteTextFile(path, text.text, *files_);
  return DataLossError(
      fmt::format("{}: gone, and the database has another content for {}", path, uid));
}

StatusOr<Tombstone> History::Drop(const std::string& uid, const std::string& reason,
                                  const std::string& date) {
  if (IsDropped(database_, uid, *files_)) return ReadTombstone(database_, uid, *files_);
  const Tombstone tombstone{.uid = uid, .date = date, .reason = reason};
  DM_RETURN_IF_ERROR(CheckTombstone(tombstone));
  std::string kind;
  {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, db_->Query("SELECT kind FROM records WHERE uid = ?", uid));
    if (rows.Next()) kind = rows.Text(0);
    DM_RETURN_IF_ERROR(rows.status());
  }
  if (kind.empty())
    return NotFoundError(fmt::format("{}: no record has the id {}", database_, uid));
  if (kind == "night") {
    return FailedPreconditionError(
        fmt::format("{}: {} is what retention has kept of a night, whose runs are gone: it stays",
                    database_, uid));
  }
  DM_RETURN_IF_ERROR(KeepFile(uid));
  DM_RETURN_IF_ERROR(files_->CreateDirectories(DroppedFolderOf(database_)));
  {
    // Inside the transaction, so that whoever adds the same record sees the one or the other.
    SqliteTransaction transaction(*db_);
    DM_RETURN_IF_ERROR(transaction.Begin());
    DM_RETURN_IF_ERROR(DeleteRows(*db_, uid));
    DM_RETURN_IF_ERROR(WriteTombstone(database_, tombstone, *files_));
    DM_RETURN_IF_ERROR(transaction.Commit());
  }
  DM_RETURN_IF_ERROR(Bury(uid));
  return tombstone;
}

StatusOr<Added> History::Restore(const std::string& uid) {
  if (!IsDropped(database_, uid, *files_)) {
    return NotFoundError(fmt::format("{}: {} is not dropped", database_, uid));
  }
  const std::string path = DroppedRecordPath(database_, uid);
  DM_ASSIGN_OR_RETURN(const ParsedRecord parsed, ReadRecordFile(path, *files_));
  if (parsed.uid != uid) {
    return DataLossError(
        fmt::format("{}: expected the record {}, found {}", path, uid, parsed.uid));
  }
  DM_RETURN_IF_ERROR(Remove(TombstonePath(database_, uid)));
  return BringBack(uid);
}

StatusOr<Added> History::BringBack(const std::string& uid) {
  const std::string path = DroppedRecordPath(database_, uid);
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, *files_, kLargestRecordFile));
  DM_ASSIGN_OR_RETURN(const Added added, AddText(text, path));
  // Dropped again meanwhile: then the file belongs there.
  if (added.outcome != AddOutcome::kDropped) DM_RETURN_IF_ERROR(Remove(path));
  return added;
}

Status History::SettleDropped() {
  const std::string folder = DroppedFolderOf(database_);
  if (!files_->IsDirectory(folder)) return OkStatus();
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> ids, DroppedIds(database_, *files_));
  for (const std::string& uid : ids) {
    DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> there,
                        db_->OneInt("SELECT count(*) FROM records WHERE uid = ?", uid));
    if (there.value_or(0) > 0) {
      SqliteTransaction transaction(*db_);
      DM_RETURN_IF_ERROR(transaction.Begin());
      if (IsDropped(database_, uid, *files_)) DM_RETURN_IF_ERROR(DeleteRows(*db_, uid));
      DM_RETURN_IF_ERROR(transaction.Commit());
    }
    if (IsDropped(database_, uid, *files_)) DM_RETURN_IF_ERROR(Bury(uid));
  }
  // A record without a tombstone was about to be restored.
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListRecordFiles(folder, *files_));
  for (const std::string& name : names) {
    const std::string uid = name.substr(0, name.rfind('.'));
    if (IsDropped(database_, uid, *files_)) continue;
    const StatusOr<Added> back = BringBack(uid);
    if (back.ok()) {
      recovered_ += back->outcome == AddOutcome::kAdded ? 1 : 0;
    } else if (files_->IsFile(JoinPath(folder, name))) {
      problems_.push_back(back.status().message());
    }
  }
  return OkStatus();
}

}  // namespace draftmark
