#include "src/perf/history/history_rebuild.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "src/base/errno_status.h"
#include "src/perf/history/schema.h"

namespace draftmark {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporary[] = ".rebuild-";  // behind the database's name; then the process's id
constexpr const char* kBesideDatabase[] = {"", "-wal", "-shm", "-journal"};

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

void RemoveDatabase(const std::string& path) {
  std::error_code ignored;
  for (const char* const suffix : kBesideDatabase) fs::remove(path + suffix, ignored);
}

Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return OkStatus();
  return ErrnoStatus(error.value(), "rename " + from + " to", to);
}

Status Sync(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return result == 0 ? OkStatus() : ErrnoStatus(error, "sync", path);
}

// Those of processes that are gone: killed ones leave their databases, and these are large.
void RemoveLeftovers(const std::string& database) {
  const fs::path path(database);
  const std::string prefix = path.filename().string() + kTemporary;
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const long process = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    const bool gone = process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
    if (gone) fs::remove(entry.path(), ignored);
  }
}

// What the old database is good for.
struct OldDatabase {
  std::optional<Sqlite> db;  // none: there is none, or it cannot even be opened
  bool damaged = false;
};

// Another program's or a newer database is an error: it is not ours to replace.
StatusOr<OldDatabase> OpenOld(const std::string& database) {
  OldDatabase old;
  if (!Exists(database)) return StatusOr<OldDatabase>(std::move(old));
  StatusOr<Sqlite> db = OpenHistoryDatabase(database);
  if (!db.ok()) {
    if (db.status().code() != StatusCode::kDataLoss) return db.status();
    old.damaged = true;
    return StatusOr<OldDatabase>(std::move(old));
  }
  old.db.emplace(std::move(db).value());
  old.damaged = true;
  if (StatusOr<SqliteRows> rows = old.db->Query("PRAGMA quick_check(1)"); rows.ok()) {
    SqliteRows checked = std::move(rows).value();
    old.damaged = !checked.Next() || checked.Text(0) != "ok";
  }
  return StatusOr<OldDatabase>(std::move(old));
}

// Writes the files that are gone from what the old database holds. Of a damaged one whatever can
// still be read, and proves itself by its hash.
Status RestoreFiles(Sqlite& db, bool damaged, const std::string& database, FileSystem& files,
                    RebuildReport& report) {
  const std::string folder = RunsFolderOf(database);
  std::vector<std::pair<std::string, std::string>> gone;
  {
    StatusOr<SqliteRows> rows = db.Query("SELECT uid, sha256 FROM records ORDER BY uid");
    if (!rows.ok()) return damaged ? OkStatus() : rows.status();
    SqliteRows found = std::move(rows).value();
    while (found.Next()) {
      if (!files.IsFile(JoinPath(folder, RecordFileName(found.Text(0)))) &&
          !IsDropped(database, found.Text(0), files)) {
        gone.emplace_back(found.Text(0), found.Text(1));
      }
    }
    if (!damaged) DM_RETURN_IF_ERROR(found.status());
  }
  for (const auto& [uid, sha256] : gone) {
    const StatusOr<HistoryRecord> record = ReadRecord(db, uid);
    const StatusOr<RecordText> text =
        record.ok() ? RecordToJsonl(*record) : StatusOr<RecordText>(record.status());
    if (!text.ok() || text->uid != uid || text->sha256 != sha256) {
      report.problems.push_back(fmt::format(
          "{}: gone, and {}", JoinPath(folder, RecordFileName(uid)),
          text.ok() ? std::string("the database has another content") : text.status().message()));
      continue;
    }
    DM_RETURN_IF_ERROR(WriteTextFile(JoinPath(folder, RecordFileName(uid)), text->text, files));
    ++report.restored;
  }
  return OkStatus();
}

// Everything that the folder has, into a fresh database. Without a journal: it is thrown away if
// anything goes wrong.
Status Fill(Sqlite& db, const std::string& database, FileSystem& files, RebuildReport& report) {
  const std::string folder = RunsFolderOf(database);
  DM_RETURN_IF_ERROR(db.Run("PRAGMA journal_mode = OFF"));
  DM_RETURN_IF_ERROR(db.Run("PRAGMA synchronous = OFF"));
  DM_RETURN_IF_ERROR(MigrateHistory(db));
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListRecordFiles(folder, files));
  SqliteTransaction transaction(db);
  DM_RETURN_IF_ERROR(transaction.Begin());
  RowWriter writer(db);
  for (const std::string& name : names) {
    if (IsDropped(database, name.substr(0, name.rfind('.')), files)) continue;
    const std::string path = JoinPath(folder, name);
    const StatusOr<ParsedRecord> parsed = ReadRecordFile(path, files);
    if (!parsed.ok()) {
      report.problems.push_back(parsed.status().message());
      continue;
    }
    if (RecordFileName(parsed->uid) != name) {
      report.problems.push_back(
          fmt::format("{}: expected the name {}, since that is the record's id", path,
                      RecordFileName(parsed->uid)));
      continue;
    }
    DM_RETURN_IF_ERROR(writer.Add(*parsed).status());
  }
  DM_RETURN_IF_ERROR(transaction.Commit());
  for (const std::string& name : names) {
    DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> replaced,
                        db.OneInt("SELECT count(*) FROM replaced_runs WHERE uid = ?",
                                  name.substr(0, name.rfind('.'))));
    if (replaced.value_or(0) > 0) ++report.replaced;
  }
  DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> records,
                      db.OneInt("SELECT count(*) FROM records"));
  report.records = static_cast<std::size_t>(records.value_or(0));
  return OkStatus();
}

// A name beside the database that nothing has.
std::string AsideName(const std::string& database) {
  for (int i = 1;; ++i) {
    std::string name = fmt::format("{}.damaged-{}", database, i);
    if (!Exists(name)) return name;
  }
}

Status TakePlace(OldDatabase old, const std::string& temporary, const std::string& database,
                 RebuildReport& report) {
  if (old.db && !old.damaged) {
    DM_ASSIGN_OR_RETURN(Sqlite fresh, Sqlite::Open(temporary, SqliteMode::kReadOnly));
    return fresh.CopyTo(*old.db);
  }
  DM_RETURN_IF_ERROR(Sync(temporary));
  old.db.reset();
  if (Exists(database)) {
    report.moved_aside = AsideName(database);
    // The log first: it must never lie beside a database that it does not belong to.
    for (const char* const suffix : {"-wal", "-shm", "-journal", ""}) {
      if (!Exists(database + suffix)) continue;
      DM_RETURN_IF_ERROR(Rename(database + suffix, report.moved_aside + suffix));
    }
  }
  return Rename(temporary, database);
}

}  // namespace

StatusOr<RebuildReport> RebuildHistory(const std::string& database, FileSystem& files) {
  const std::string folder = RunsFolderOf(database);
  RebuildReport report;
  if (!Exists(database) && !files.IsDirectory(folder)) {
    return NotFoundError(
        fmt::format("{}: no such history, and no folder {} to make it from", database, folder));
  }
  DM_ASSIGN_OR_RETURN(OldDatabase old, OpenOld(database));
  // Most likely another path was meant: an empty history in the place of that file would pass for a
  // rebuilt one.
  if (old.damaged && !old.db && !files.IsDirectory(folder)) {
    return FailedPreconditionError(fmt::format(
        "{}: expected a history, or a folder {} to make it from, found a file that is no "
        "database; it was left as it is",
        database, folder));
  }
  DM_RETURN_IF_ERROR(files.CreateDirectories(folder));
  if (old.db) DM_RETURN_IF_ERROR(RestoreFiles(*old.db, old.damaged, database, files, report));
  RemoveLeftovers(database);
  const std::string temporary = fmt::format("{}{}{}.tmp", database, kTemporary, ::getpid());
  RemoveDatabase(temporary);
  Status status;
  {
    StatusOr<Sqlite> db = Sqlite::Open(temporary, SqliteMode::kCreate);
    status = db.ok() ? Fill(db.value(), database, files, report) : db.status();
  }
  if (status.ok()) status = TakePlace(std::move(old), temporary, database, report);
  RemoveDatabase(temporary);
  DM_RETURN_IF_ERROR(status);
  return report;
}

namespace {

Status MergeFile(History& history, const std::string& path, FileSystem& files,
                 MergeReport& report) {
  const StatusOr<std::string> text = ReadTextFile(path, files, kLargestRecordFile);
  if (!text.ok()) {
    report.problems.push_back(text.status().message());
    return OkStatus();
  }
  const StatusOr<Added> added = history.AddText(*text, path);
  if (!added.ok()) {
    const StatusCode code = added.status().code();
    // The next file would find the same.
    if (code == StatusCode::kResourceExhausted || code == StatusCode::kUnavailable) {
      return added.status();
    }
    // What is said of the record that is there does not name the one that was to come.
    report.problems.push_back(added.status().message().starts_with(path)
                                  ? added.status().message()
                                  : fmt::format("{}: {}", path, added.status().message()));
    return OkStatus();
  }
  switch (added->outcome) {
    case AddOutcome::kAdded:
      ++report.added;
      break;
    case AddOutcome::kKnown:
      ++report.known;
      break;
    case AddOutcome::kReplaced:
      ++report.replaced;
      break;
    case AddOutcome::kDropped:
      ++report.dropped;
      break;
  }
  return OkStatus();
}

// By its name: only there is it no mistake that no file lies in it.
bool IsRunsFolder(std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return folder.ends_with(RunsFolderOf(""));
}

}  // namespace

StatusOr<MergeInput> FindMergeInput(const std::vector<std::string>& paths, FileSystem& files) {
  MergeInput input;
  for (const std::string& path : paths) {
    std::string folder = path;
    if (files.IsFile(path)) {
      if (path.ends_with(".jsonl")) {
        input.files.push_back(path);
        continue;
      }
      folder = RunsFolderOf(path);
    }
    if (!files.IsDirectory(folder)) {
      return NotFoundError(fmt::format(
          "{}: expected a .jsonl file, a folder of them or a database with a folder {}, found none",
          path, RunsFolderOf(path)));
    }
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListRecordFiles(folder, files));
    if (names.empty() && !IsRunsFolder(folder)) {
      input.problems.push_back(
          fmt::format("{}: expected .jsonl files, or the folder NAME{} of a history, found neither",
                      path, RunsFolderOf("")));
    }
    for (const std::string& name : names) input.files.push_back(JoinPath(folder, name));
  }
  return input;
}

StatusOr<MergeReport> MergeHistory(History& history, const std::vector<std::string>& paths,
                                   FileSystem& files) {
  DM_ASSIGN_OR_RETURN(MergeInput input, FindMergeInput(paths, files));
  MergeReport report;
  report.problems = std::move(input.problems);
  for (const std::string& path : input.files) {
    DM_RETURN_IF_ERROR(MergeFile(history, path, files, report));
  }
  return report;
}

}  // namespace draftmark
