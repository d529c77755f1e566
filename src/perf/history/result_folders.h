// Where results lie at and below a path: folders that the bundle's `run` wrote, and folders of
// reports.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<ResultFolder> folders, FindResultFolders("night"));
//   for (const ResultFolder& folder : folders) Read(folder.reports);
//
// A folder with summary.json is the bundle's: its reports are those in bench/, and of the folders
// in it only those that are the bundle's, too, are further results. Any other folder holds reports
// (*.json) or further folders, each of which must have results: what is given is read or refused,
// and never left out without a word. A file stands for itself.
//
// Errors: NOT_FOUND for a path that is not there, or a folder without results;
// INVALID_ARGUMENT for folders that lie too deep. Pure but for the file system, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RESULT_FOLDERS_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RESULT_FOLDERS_H_

#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

// Folders in folders, so that a link to a folder above ends in an error.
inline constexpr int kMostResultDepth = 4;

struct ResultFolder {
  std::string path;
  bool is_bundle = false;
  std::vector<std::string> reports = {};  // paths, ascending; of a bundle those of its benchmarks
};

StatusOr<std::vector<ResultFolder>> FindResultFolders(const std::string& path,
                                                      FileSystem& files = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RESULT_FOLDERS_H_
