// Records that someone took out of a history: a folder beside the database, "history.db.dropped",
// with the record's own file, "UID.jsonl", and a tombstone, "UID.tombstone", that says why.
//
//   DM_RETURN_IF_ERROR(WriteTombstone(database, {.uid = uid, .date = day, .reason = why}, files));
//   if (IsDropped(database, uid, files)) ...   // whatever else the database or a folder says
//
// The tombstone alone decides: as long as it is there, the record is not in the history, and no
// import, merge or rebuild brings it back (History::Drop, History::Restore). It counts for the
// history that it lies beside, not for others.
//
// A tombstone: {"draftmark_tombstone":1,"id":"...","date":"2026-11-30","reason":"..."}.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_TOMBSTONE_H_
#define DRAFTMARK_SRC_PERF_HISTORY_TOMBSTONE_H_

#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

struct Tombstone {
  std::string uid = {};
  std::string date = {};  // "2026-11-30"
  std::string reason = {};
};

std::string DroppedFolderOf(const std::string& database);  // "history.db.dropped"
// Paths of the two files of a dropped record.
std::string TombstonePath(const std::string& database, const std::string& uid);
std::string DroppedRecordPath(const std::string& database, const std::string& uid);

bool IsDropped(const std::string& database, const std::string& uid,
               FileSystem& files = RealFileSystem());

// INVALID_ARGUMENT: a reason that is empty, longer than 1000 bytes, no UTF-8 or has control
// characters; then nothing is written.
Status CheckTombstone(const Tombstone& tombstone);
Status WriteTombstone(const std::string& database, const Tombstone& tombstone, FileSystem& files);

// DATA_LOSS or INVALID_ARGUMENT, naming the file and field; the record is dropped all the same.
StatusOr<Tombstone> ReadTombstone(const std::string& database, const std::string& uid,
                                  FileSystem& files = RealFileSystem());

// Of all tombstones, ascending; none without the folder.
StatusOr<std::vector<std::string>> DroppedIds(const std::string& database,
                                              FileSystem& files = RealFileSystem());

// The one dropped record whose id begins so. NOT_FOUND, or INVALID_ARGUMENT where there are more.
StatusOr<std::string> FindDropped(const std::string& database, const std::string& prefix,
                                  FileSystem& files = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_TOMBSTONE_H_
