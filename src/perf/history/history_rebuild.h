// Makes the database of a history again from its JSONL files, checks that the two agree, and takes
// in the files of other machines.
//
//   DM_ASSIGN_OR_RETURN(const RebuildReport rebuilt, RebuildHistory("history.db"));
//   DM_ASSIGN_OR_RETURN(const MergeReport merged, MergeHistory(history, {"h200.db.runs"}));
//   DM_ASSIGN_OR_RETURN(const CheckReport checked, CheckHistory("history.db"));
//
// Errors as in history.h; NOT_FOUND where nothing is there.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_HISTORY_REBUILD_H_
#define DRAFTMARK_SRC_PERF_HISTORY_HISTORY_REBUILD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/history/history.h"

namespace draftmark {

struct RebuildReport {
  std::size_t records = 0;            // in the database now
  std::size_t replaced = 0;           // runs that a night stands for
  std::size_t restored = 0;           // files that were gone, written again from the old database
  std::string moved_aside;            // where a damaged database lies now; empty: there was none
  std::vector<std::string> problems;  // files that were left out
};

// The new database is made beside the old one and takes its place as a whole; until then, and after
// an error, the old one is as it was. A damaged one is kept under another name. A file that is no
// whole record is left out and told; what is dropped (tombstone.h) is left out.
// FAILED_PRECONDITION: a file that is no database, and no folder of records beside it.
StatusOr<RebuildReport> RebuildHistory(const std::string& database,
                                       FileSystem& files = RealFileSystem());

struct MergeReport {
  std::size_t added = 0, known = 0, replaced = 0, dropped = 0;
  std::vector<std::string> problems;  // files that were not taken in, folders that have none
};

struct MergeInput {
  std::vector<std::string> files;
  std::vector<std::string> problems;  // folders that have none
};

// The files of `paths`, which are JSONL files, folders of them, or databases that have such a
// folder beside them. NOT_FOUND: one is nothing of these.
StatusOr<MergeInput> FindMergeInput(const std::vector<std::string>& paths,
                                    FileSystem& files = RealFileSystem());

// Takes in what FindMergeInput finds; where that fails, nothing. Files are copied byte by byte;
// merging twice, or in another order, gives the same history. An error of one file does not keep
// the others out; a full disk or a lock ends it.
StatusOr<MergeReport> MergeHistory(History& history, const std::vector<std::string>& paths,
                                   FileSystem& files = RealFileSystem());

struct CheckReport {
  std::size_t records = 0;
  std::vector<std::string> problems;
};

// Reads everything: that the database is whole, that every file is, and that each says the same as
// the other, byte by byte. Changes nothing.
StatusOr<CheckReport> CheckHistory(const std::string& database,
                                   FileSystem& files = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_HISTORY_REBUILD_H_
