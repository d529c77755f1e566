// The history of runs: one SQLite file, and beside it one JSONL file per record, from which the
// database can be made again. For writers; history_reader.h answers questions.
//
//   DM_ASSIGN_OR_RETURN(History history, History::Open("history.db"));
//   DM_ASSIGN_OR_RETURN(const Added added, history.Add(run));
//   added.uid;   // "3f0c55a1b2d4e697"; the file is history.db.runs/3f0c55a1b2d4e697.jsonl
//
// Nothing is lost. A record is first written to its file (a temporary, synced, renamed) and only
// then to the database, in one transaction. Whoever opens the history next takes in what a writer
// that was killed, or that found the disk full, left in the folder only; and a database that is
// damaged or gone is rebuilt (history_rebuild.h). Adding the same again changes nothing.
//
// A record can be taken out and brought back (Drop, Restore; tombstone.h says what lies where).
//
// Any number of processes may write and read at once: writers wait for each other, up to
// kBusyMilliseconds. An object belongs to one thread.
//
// Errors name the file:
//   FAILED_PRECONDITION  a newer schema, another program's database, or another record of this id
//   DATA_LOSS            the database is damaged: rebuild it
//   RESOURCE_EXHAUSTED   the disk is full; says whether the record is safe in its file
//   UNAVAILABLE          locked for too long, or no right to write
//   INVALID_ARGUMENT     a record that CheckRecord refuses, or the path of a device or a pipe
#ifndef DRAFTMARK_SRC_PERF_HISTORY_HISTORY_H_
#define DRAFTMARK_SRC_PERF_HISTORY_HISTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/history/record.h"
#include "src/perf/history/record_jsonl.h"
#include "src/perf/history/record_rows.h"
#include "src/perf/history/sqlite.h"
#include "src/perf/history/tombstone.h"

namespace draftmark {

// The folder of the JSONL files of a database: "history.db.runs".
std::string RunsFolderOf(const std::string& database);
std::string RecordFileName(const std::string& uid);  // "UID.jsonl"

struct Added {
  std::string uid;
  AddOutcome outcome = AddOutcome::kAdded;
};

class History {
 public:
  // Makes the database and the folder where they are not there, brings an older one up to date,
  // clears what killed writers left half-written (stale_temporaries.h), and takes in the files that
  // the database does not know yet.
  static StatusOr<History> Open(const std::string& database, FileSystem& files = RealFileSystem());

  StatusOr<Added> Add(const HistoryRecord& record);
  // The text of a record's file, as another machine wrote it. `source` is its name, for errors.
  StatusOr<Added> AddText(std::string_view text, const std::string& source);

  // Takes a record out: it comes back neither by import, merge nor rebuild, only by Restore. One
  // that is out already stays so; its tombstone is returned. NOT_FOUND: no such record;
  // INVALID_ARGUMENT: CheckTombstone; FAILED_PRECONDITION: a night, whose runs are gone.
  StatusOr<Tombstone> Drop(const std::string& uid, const std::string& reason,
                           const std::string& date);
  // NOT_FOUND: it is not dropped. DATA_LOSS: its file is damaged or gone; it stays dropped.
  StatusOr<Added> Restore(const std::string& uid);

  // Records that Open found in the folder only, and took in.
  std::size_t recovered() const { return recovered_; }
  // Files of the folder that could not be read, one message each; they are left as they are.
  const std::vector<std::string>& problems() const { return problems_; }

  const std::string& database() const { return database_; }
  const std::string& folder() const { return folder_; }
  Sqlite& db() { return *db_; }

 private:
  History(std::string database, FileSystem& files);
  Status CheckIsTheSame(const RecordText& written, const std::string& path, bool on_disk);
  StatusOr<Added> Write(const RecordText& written, const ParsedRecord& parsed);
  Status TakeIn();
  StatusOr<AddOutcome> AddRows(const ParsedRecord& parsed);
  // history_drop.cc
  Status Bury(const std::string& uid);
  Status KeepFile(const std::string& uid);
  StatusOr<Added> BringBack(const std::string& uid);
  Status SettleDropped();

  std::string database_;
  std::string folder_;
  FileSystem* files_;
  std::unique_ptr<Sqlite> db_;
  std::size_t recovered_ = 0;
  std::vector<std::string> problems_;
};

// Opens the database of a history as it is, for writing: creates, migrates, write-ahead log.
StatusOr<Sqlite> OpenHistoryDatabase(const std::string& database);

// The names of the JSONL files in a folder, ascending; none if there is no such folder.
StatusOr<std::vector<std::string>> ListRecordFiles(const std::string& folder, FileSystem& files);
StatusOr<ParsedRecord> ReadRecordFile(const std::string& path, FileSystem& files);

// No record is near it: a run of 10,000 cases has 5 MB.
inline constexpr std::uint64_t kLargestRecordFile = std::uint64_t{256} << 20;

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_HISTORY_H_
