#include "tools/commands/perf/compare_files.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "src/base/sha256.h"

namespace draftmark {

StatusOr<std::vector<std::string>> FindRunFiles(const std::vector<std::string>& paths,
                                                FileSystem& file_system) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!file_system.IsDirectory(path)) {
      if (!file_system.IsFile(path)) return NotFoundError(fmt::format("{}: no such file", path));
      files.push_back(path);
      continue;
    }
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(path));
    const std::size_t before = files.size();
    for (const std::string& name : names) {
      const std::string file = JoinPath(path, name);
      if (name.ends_with(".json") && file_system.IsFile(file)) files.push_back(file);
    }
    if (files.size() == before) {
      return NotFoundError(fmt::format("{}: a folder without a .json file", path));
    }
  }
  return files;
}

StatusOr<std::vector<BenchmarkReport>> RunReader::Read(const std::vector<std::string>& files) {
  std::vector<BenchmarkReport> reports;
  for (const std::string& file : files) {
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, file_system_));
    DM_ASSIGN_OR_RETURN(BenchmarkReport report, ParseGoogleBenchmark(text, file));
    const auto [at, is_new] = seen_.emplace(Sha256Hex(std::as_bytes(std::span(text))), file);
    if (!is_new) {
      return InvalidArgumentError(fmt::format(
          "{}: the same content as {}; each file must be a run of its own", file, at->second));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace draftmark
