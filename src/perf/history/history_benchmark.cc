// How long the history's answers take: makes a synthetic one (synthetic_history.h) and times every
// query of the dashboard and the gate on it.
//
//   bazel run -c opt //src/perf/history:history_benchmark -- FOLDER [CASES NIGHTS RUNS]
//
// FOLDER holds the history afterwards, and is used again when it is there already. By default 500
// cases, 400 nights of 5 runs: 1,000,000 points, 2,000,000 counts, 200,000 verdicts.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <system_error>

#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/history_rebuild.h"
#include "src/perf/history/synthetic_history.h"

namespace draftmark {
namespace {

double SecondsOf(const std::function<Status()>& work, Status& status) {
  const auto start = std::chrono::steady_clock::now();
  status = work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The fastest and the slowest of three, since the first one may read from the disk.
Status Time(const std::string& name, const std::function<StatusOr<std::size_t>()>& query) {
  double fastest = 1e9, slowest = 0;
  std::size_t rows = 0;
  for (int i = 0; i < 3; ++i) {
    Status status;
    const double seconds = SecondsOf(
        [&]() -> Status {
          DM_ASSIGN_OR_RETURN(rows, query());
          return OkStatus();
        },
        status);
    DM_RETURN_IF_ERROR(status);
    fastest = std::min(fastest, seconds);
    slowest = std::max(slowest, seconds);
  }
  std::cout << fmt::format("{:<44} {:>8} rows {:>8.3f} s, slowest {:.3f} s\n", name, rows, fastest,
                           slowest)
            << std::flush;
  return OkStatus();
}

template <typename T>
StatusOr<std::size_t> SizeOf(const StatusOr<T>& answer) {
  if (!answer.ok()) return answer.status();
  return answer->size();
}

Status TimeQueries(const std::string& database, const SyntheticSize& size) {
  DM_RETURN_IF_ERROR(Time("open for reading", [&]() -> StatusOr<std::size_t> {
    const StatusOr<HistoryReader> opened = HistoryReader::Open(database);
    return opened.ok() ? StatusOr<std::size_t>(1) : opened.status();
  }));
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(database));
  DM_ASSIGN_OR_RETURN(const auto series, reader.Series({.case_id = SyntheticCase(1)}));
  if (series.empty()) return NotFoundError("the history has no synthetic cases");
  const SeriesId id = series.front().id;
  const std::string since = "2026-09-01";
  DM_RETURN_IF_ERROR(Time("environments", [&] { return SizeOf(reader.Environments()); }));
  DM_RETURN_IF_ERROR(Time("series", [&] { return SizeOf(reader.Series()); }));
  DM_RETURN_IF_ERROR(Time("nights of every series", [&] { return SizeOf(reader.Nights()); }));
  DM_RETURN_IF_ERROR(Time("nights of every series since " + since,
                          [&] { return SizeOf(reader.Nights({.since = since})); }));
  DM_RETURN_IF_ERROR(Time("nights of one case",
                          [&] { return SizeOf(reader.Nights({.case_id = SyntheticCase(1)})); }));
  DM_RETURN_IF_ERROR(Time("runs of every night", [&] { return SizeOf(reader.NightRuns()); }));
  DM_RETURN_IF_ERROR(Time("every point of one series", [&] { return SizeOf(reader.Trend(id)); }));
  DM_RETURN_IF_ERROR(Time("newest counts", [&] { return SizeOf(reader.NewestCounts()); }));
  DM_RETURN_IF_ERROR(
      Time("changes of a count", [&] { return SizeOf(reader.CountChanges(id, "launches")); }));
  DM_RETURN_IF_ERROR(Time("runs", [&] { return SizeOf(reader.Runs()); }));
  DM_RETURN_IF_ERROR(Time("newest 50 runs", [&] { return SizeOf(reader.Runs({.limit = 50})); }));
  DM_RETURN_IF_ERROR(Time("newest verdicts", [&] { return SizeOf(reader.NewestVerdicts()); }));
  DM_RETURN_IF_ERROR(Time("gates", [&] { return SizeOf(reader.Gates()); }));
  DM_RETURN_IF_ERROR(Time("change points", [&] { return SizeOf(reader.ChangePoints()); }));
  DM_RETURN_IF_ERROR(Time("A/A quality", [&] { return SizeOf(reader.AaQuality()); }));
  DM_RETURN_IF_ERROR(
      Time("conformance matrix", [&] { return SizeOf(reader.ConformanceMatrix()); }));
  DM_RETURN_IF_ERROR(Time("conformance cases", [&] { return SizeOf(reader.Conformance()); }));
  DM_ASSIGN_OR_RETURN(const auto newest,
                      reader.Runs({.program = "operations_benchmark", .limit = 1}));
  if (newest.empty()) return OkStatus();
  return Time(fmt::format("one run with its {} points", size.cases),
              [&]() -> StatusOr<std::size_t> {
                DM_ASSIGN_OR_RETURN(const RunRecord run, reader.Run(newest.front().id));
                return run.points.size();
              });
}

Status Run(const std::string& folder, const SyntheticSize& size) {
  DM_RETURN_IF_ERROR(RealFileSystem().CreateDirectories(folder));
  const std::string database = JoinPath(folder, "history.db");
  Status status;
  if (!RealFileSystem().IsFile(database)) {
    const double seconds = SecondsOf(
        [&]() -> Status {
          DM_ASSIGN_OR_RETURN(History history, History::Open(database));
          return FillSyntheticHistory(size, history);
        },
        status);
    DM_RETURN_IF_ERROR(status);
    std::cout << fmt::format("written in {:.1f} s, {} records\n", seconds,
                             size.nights * (size.runs + 2));
  }
  std::error_code ignored;
  std::cout << fmt::format("{} cases, {} nights of {} runs: {} points; database {} MB\n",
                           size.cases, size.nights, size.runs, size.cases * size.nights * size.runs,
                           std::filesystem::file_size(database, ignored) / 1000000)
            << std::flush;
  DM_RETURN_IF_ERROR(TimeQueries(database, size));
  const double seconds = SecondsOf([&] { return RebuildHistory(database).status(); }, status);
  std::cout << fmt::format("rebuilt from its JSONL files in {:.1f} s\n", seconds);
  return status;
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) {
  if (argc != 2 && argc != 5) {
    std::cerr << "usage: history_benchmark FOLDER [CASES NIGHTS RUNS]\n";
    return 2;
  }
  draftmark::SyntheticSize size{.cases = 500, .nights = 400, .runs = 5};
  if (argc == 5) {
    size.cases = std::atoll(argv[2]);
    size.nights = std::atoll(argv[3]);
    size.runs = std::atoll(argv[4]);
  }
  const draftmark::Status status = draftmark::Run(argv[1], size);
  if (status.ok()) return 0;
  std::cerr << "history_benchmark: " << status.message() << "\n";
  return 2;
}
