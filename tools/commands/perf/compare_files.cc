#include "tools/commands/perf/compare_files.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "src/base/sha256.h"
#include "src/perf/history/history_reader.h"

namespace draftmark {
namespace {

// What is there is a file, whatever its name.
bool IsId(const std::string& text, const std::string& database) {
  return !database.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos &&
         !RealFileSystem().IsFile(text) && !RealFileSystem().IsDirectory(text);
}

// A run of the history has one value for each case, which is what its samples came to, and counts.
StatusOr<BenchmarkReport> ReportOfRun(const std::string& id, const std::string& database) {
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(database));
  DM_ASSIGN_OR_RETURN(const RunRecord run, reader.Run(id));
  BenchmarkReport report{.source = "run " + id, .cases = {}};
  for (const Point& point : run.points) {
    BenchmarkCase c{.name = point.case_id,
                    .unit = point.unit,
                    .unit_field = fmt::format("run {}: {}", id, point.case_id),
                    .failure = point.failure};
    if (!run.valid && c.failure.empty()) c.failure = "the run is no evidence: " + run.reason;
    for (const auto& [name, count] : point.counts) {
      if (c.failure.empty()) c.counts[name] = static_cast<std::uint64_t>(count);
    }
    if (c.failure.empty() && !point.seconds && c.counts.empty()) continue;
    if (point.seconds) c.seconds = {*point.seconds};
    c.samples = static_cast<double>(point.samples + point.voided);
    c.voided = static_cast<double>(point.voided);
    report.cases.push_back(std::move(c));
  }
  if (report.cases.empty()) return NotFoundError(fmt::format("run {} has no times or counts", id));
  return report;
}

}  // namespace

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

StatusOr<std::vector<std::string>> FindRuns(const std::vector<std::string>& paths,
                                            const std::string& database) {
  std::vector<std::string> runs;
  for (const std::string& path : paths) {
    if (!IsId(path, database)) {
      DM_ASSIGN_OR_RETURN(const std::vector<std::string> files, FindRunFiles({path}));
      runs.insert(runs.end(), files.begin(), files.end());
      continue;
    }
    DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(database));
    DM_ASSIGN_OR_RETURN(std::string id, reader.FindId(path));
    runs.push_back(std::move(id));
  }
  return runs;
}

StatusOr<BenchmarkReport> RunReader::ReadOne(const std::string& run) {
  std::string key = run;
  BenchmarkReport report;
  if (IsId(run, database_)) {
    DM_ASSIGN_OR_RETURN(report, ReportOfRun(run, database_));
  } else {
    DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(run));
    DM_ASSIGN_OR_RETURN(report, ParseGoogleBenchmark(text, run));
    key = Sha256Hex(std::as_bytes(std::span(text)));
  }
  const auto [at, is_new] = seen_.emplace(key, run);
  if (is_new) return report;
  return InvalidArgumentError(fmt::format(
      "{}: the same content as {}; each file must be a run of its own", run, at->second));
}

StatusOr<std::vector<BenchmarkReport>> RunReader::Read(const std::vector<std::string>& runs) {
  std::vector<BenchmarkReport> reports;
  for (const std::string& run : runs) {
    DM_ASSIGN_OR_RETURN(BenchmarkReport report, ReadOne(run));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace draftmark
