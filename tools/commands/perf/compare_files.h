// The files of a side of `draftmark perf compare`, and their reports.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<std::string> runs, FindRuns({"runs/base"}, database));
//   RunReader reader(database);
//   DM_ASSIGN_OR_RETURN(const std::vector<BenchmarkReport> reports, reader.Read(runs));
//
// With a history (`database` is not empty) what is no file or folder is the id of a run in it.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_FILES_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_FILES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/google_benchmark.h"

namespace draftmark {

// A path is a file, or a folder of which every *.json is taken. NOT_FOUND: no such file, or a
// folder without one.
StatusOr<std::vector<std::string>> FindRunFiles(const std::vector<std::string>& paths,
                                                FileSystem& file_system = RealFileSystem());

// The same, with ids of runs in full. NOT_FOUND also for a run that the history does not have, or
// that has neither times nor counts; those of HistoryReader.
StatusOr<std::vector<std::string>> FindRuns(const std::vector<std::string>& paths,
                                            const std::string& database);

// One reader for all sides: no two files it reads may have the same content, since a copy of a run
// is no evidence of its own.
class RunReader {
 public:
  explicit RunReader(std::string database = "") : database_(std::move(database)) {}

  StatusOr<std::vector<BenchmarkReport>> Read(const std::vector<std::string>& runs);

 private:
  StatusOr<BenchmarkReport> ReadOne(const std::string& run);

  std::string database_;
  std::map<std::string, std::string> seen_;  // SHA-256, or the id of a run, to its name
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_COMPARE_FILES_H_
