#include "src/perf/history/result_folders.h"

#include <fmt/format.h>

#include <utility>

namespace draftmark {
namespace {

constexpr char kSummary[] = "summary.json";

bool IsBundle(const std::string& folder, FileSystem& files) {
  return files.IsFile(JoinPath(folder, kSummary));
}

StatusOr<std::vector<std::string>> ReportsIn(const std::string& folder, FileSystem& files) {
  std::vector<std::string> reports;
  if (!files.IsDirectory(folder)) return reports;
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder));
  for (const std::string& name : names) {
    std::string path = JoinPath(folder, name);
    if (name.ends_with(".json") && files.IsFile(path)) reports.push_back(std::move(path));
  }
  return reports;
}

Status Search(const std::string& path, int depth, FileSystem& files,
              std::vector<ResultFolder>& found) {
  if (depth > kMostResultDepth) {
    return InvalidArgumentError(
        fmt::format("{}: expected results in folders {} deep at most", path, kMostResultDepth));
  }
  ResultFolder own{.path = path, .is_bundle = IsBundle(path, files)};
  DM_ASSIGN_OR_RETURN(own.reports,
                      ReportsIn(own.is_bundle ? JoinPath(path, "bench") : path, files));
  const std::size_t before = found.size();
  if (own.is_bundle || !own.reports.empty()) found.push_back(own);
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path));
  for (const std::string& name : names) {
    const std::string inner = JoinPath(path, name);
    if (!files.IsDirectory(inner)) continue;
    // The bundle's own folders (bench, verify, tests, logs) are not results of their own.
    if (own.is_bundle && !IsBundle(inner, files)) continue;
    DM_RETURN_IF_ERROR(Search(inner, depth + 1, files, found));
  }
  if (found.size() > before) return OkStatus();
  return NotFoundError(
      path + ": expected results of the bundle (summary.json) or *.json reports, found none");
}

}  // namespace

StatusOr<std::vector<ResultFolder>> FindResultFolders(const std::string& path, FileSystem& files) {
  std::vector<ResultFolder> found;
  if (files.IsDirectory(path)) {
    DM_RETURN_IF_ERROR(Search(path, 1, files, found));
  } else if (files.IsFile(path)) {
    found.push_back({.path = path, .reports = {path}});
  } else {
    return NotFoundError(path + ": no such file or folder");
  }
  return found;
}

}  // namespace draftmark
