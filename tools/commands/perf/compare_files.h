// The files of a side of `draftmark perf compare`, and their reports.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<std::string> files, FindRunFiles({"runs/base"}));
//   RunReader reader;
//   DM_ASSIGN_OR_RETURN(const std::vector<BenchmarkReport> reports, reader.Read(files));
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_FILES_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/google_benchmark.h"

namespace draftmark {

// A path is a file, or a folder of which every *.json is taken. NOT_FOUND: no such file, or a
// folder without one.
StatusOr<std::vector<std::string>> FindRunFiles(const std::vector<std::string>& paths,
                                                FileSystem& file_system = RealFileSystem());

// One reader for all sides: no two files it reads may have the same content, since a copy of a run
// is no evidence of its own.
class RunReader {
 public:
  explicit RunReader(FileSystem& file_system = RealFileSystem()) : file_system_(file_system) {}

  StatusOr<std::vector<BenchmarkReport>> Read(const std::vector<std::string>& files);

 private:
  FileSystem& file_system_;
  std::map<std::string, std::string> seen_;  // SHA-256 to file
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_FILES_H_
