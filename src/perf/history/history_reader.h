// Answers of the history, for the dashboard and the gate. Reads only.
//
//   DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open("history.db"));
//   DM_ASSIGN_OR_RETURN(const auto trends, reader.Nights({.architecture = "sm_90"}));
//   DM_ASSIGN_OR_RETURN(const auto verdicts, reader.NewestVerdicts());
//   DM_ASSIGN_OR_RETURN(const RunRecord run, reader.Run("3f0c"));   // any prefix that is unique
//
// Every answer is what the database holds at that moment, in a fixed order. With 1,000,000 points
// (500 cases, 400 nights of 5 runs) every one of them takes less than a second
// (history_benchmark.cc).
//
// Errors: NOT_FOUND (no database, no such run), FAILED_PRECONDITION (a newer or an older schema,
// another program's database), DATA_LOSS, UNAVAILABLE; see history.h. Works in a folder that may
// not be written. For one thread.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_HISTORY_READER_H_
#define DRAFTMARK_SRC_PERF_HISTORY_HISTORY_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/history/record.h"
#include "src/perf/history/sqlite.h"

namespace draftmark {

// Ids are of this database only, and change when it is rebuilt.
using EnvironmentId = std::int64_t;
using SeriesId = std::int64_t;

struct EnvironmentRow {
  EnvironmentId id = 0;
  Environment environment;
  std::int64_t runs = 0;    // in the database
  std::int64_t newest = 0;  // time of the newest run or night; 0: none
};

// What a query is about; empty is everything.
struct SeriesFilter {
  std::string architecture = {};
  std::optional<EnvironmentId> environment = std::nullopt;
  std::string case_id = {};
  std::string since = {};  // first night
};

struct SeriesRow {
  SeriesId id = 0;
  EnvironmentId environment = 0;
  std::string case_id;
  std::int64_t schema = kFirstCaseSchema;
};

// One run's point in a trend.
struct TrendPoint {
  std::string run;  // its id
  std::int64_t time = 0;
  std::string night, commit;
  bool valid = true;  // of the run
  Point point;        // without case, counts and numbers
};

// One night of a series: its runs together, or what retention has kept of them.
struct NightValue {
  std::int32_t day = 0;                     // since 1970; NightOfDay
  std::int32_t runs = 0;                    // valid ones with a time
  std::int32_t invalid = 0;                 // runs that are no evidence
  std::int32_t failed = 0;                  // runs in which the benchmark failed
  std::int64_t samples = 0;                 // of the valid runs
  double seconds = 0;                       // median of their values; 0 where there is none
  double low = 0, high = 0;                 // the least and the largest of them
  float copy_share = -1, floor_share = -1;  // medians; -1: not known
};
struct NightSeries {
  SeriesRow series;
  std::string unit;                // in which its times are read, of the newest
  std::string reproduce;           // of the newest run that has one
  std::vector<NightValue> nights;  // ascending
};

// Which runs a night had.
struct NightRow {
  EnvironmentId environment = 0;
  std::int32_t day = 0;
  std::string commit;             // of the last run
  std::vector<std::string> runs;  // ids by time; empty once retention has replaced them
};

struct RunRow {
  std::string id;
  std::int64_t time = 0;
  std::string night, commit, program, session;
  std::int64_t number = 0;
  EnvironmentId environment = 0;
  bool valid = true;
  std::string reason, command;
  std::int64_t points = 0, conformance = 0, conformance_failed = 0;
  std::int64_t suites = 0, suites_failed = 0;  // IsSuiteFailure
  std::string failed_suites = {};              // their names, "a, b"
};
struct RunFilter {
  std::optional<EnvironmentId> environment = std::nullopt;
  std::string architecture = {}, program = {}, session = {}, night = {};
  std::string commit = {};  // or how it begins
  std::size_t limit = 0;    // newest ones; 0: all
};

struct VerdictRow {
  std::string gate;  // id of the record
  std::int64_t time = 0;
  std::string mode, base_commit, next_commit;
  bool advisory = false;
  EnvironmentId environment = 0;
  SeriesId series = 0;
  GateVerdict verdict;
};
struct GateRow {
  std::string id;
  std::int64_t time = 0;
  std::string night, mode, base_commit, next_commit, verdict, command;
  std::int64_t exit_code = 0;
  bool advisory = false;
  EnvironmentId environment = 0;
  std::int64_t cases = 0, slower = 0;
};
struct ChangePointRow {
  std::string gate;
  SeriesId series = 0;
  EnvironmentId environment = 0;
  ChangePoint point;
};

// One field of the conformance matrix, from the newest runs that had cases of it.
struct ConformanceCell {
  std::string operation;     // "op/rms_norm", "draft"
  std::string architecture;  // "sm_90", "cpu"
  std::int64_t cases = 0, failed = 0, waived = 0;
  std::optional<double> used_share;  // the worst
  std::string worst_case;            // that has it
  std::string run, commit;           // of the newest result
  std::int64_t time = 0;
};
// A suite of tests or checks: its newest total on an architecture.
struct SuiteRow {
  std::string architecture, program, run, commit;
  std::int64_t time = 0;
  SuiteResult result;
  bool failed = false;                         // IsSuiteFailure
  std::vector<std::string> failed_tests = {};  // those that its run names
};
struct ConformanceRow {
  std::string run, commit, architecture, operation;
  std::int64_t time = 0;
  ConformanceResult result;
};

struct AaRow {
  EnvironmentId environment = 0;
  std::string case_id;
  std::int64_t schema = kFirstCaseSchema;
  std::int64_t comparisons = 0, false_alarms = 0, unclear = 0, invalid = 0;  // sums
  // Of the newest record with a comparison that has a verdict; without any they are not known.
  double spread = 0, detectable = 0;
  std::int64_t newest = 0;
};

// The newest value of an exact count in each series.
struct CountRow {
  SeriesRow series;
  std::string field;
  std::int64_t value = 0;
  std::string run, night, commit;
  std::int64_t time = 0;
};
// A count at the nights where it changed.
struct CountChange {
  std::string night, commit, run;
  std::int64_t value = 0;
};

class HistoryReader {
 public:
  static StatusOr<HistoryReader> Open(const std::string& database,
                                      FileSystem& files = RealFileSystem());

  // Keys.
  StatusOr<std::vector<EnvironmentRow>> Environments();
  StatusOr<std::vector<SeriesRow>> Series(const SeriesFilter& filter = {});

  // Trends.
  StatusOr<std::vector<TrendPoint>> Trend(SeriesId series, const std::string& since = "");
  StatusOr<std::vector<NightSeries>> Nights(const SeriesFilter& filter = {});
  StatusOr<std::vector<NightRow>> NightRuns(const SeriesFilter& filter = {});
  StatusOr<std::vector<CountRow>> NewestCounts(const SeriesFilter& filter = {});
  StatusOr<std::vector<CountChange>> CountChanges(SeriesId series, const std::string& field);

  // Records. An id may be cut to its first digits, 4 at least, where that is unique.
  StatusOr<std::string> FindId(const std::string& prefix);
  StatusOr<HistoryRecord> Record(const std::string& prefix);
  StatusOr<RunRecord> Run(const std::string& prefix);                // INVALID_ARGUMENT: not a run
  StatusOr<std::vector<RunRow>> Runs(const RunFilter& filter = {});  // newest first

  // Verdicts, newest first.
  StatusOr<std::vector<VerdictRow>> NewestVerdicts(
      const SeriesFilter& filter = {});  // one a metric
  StatusOr<std::vector<GateRow>> Gates(std::size_t limit = 0);
  StatusOr<std::vector<ChangePointRow>> ChangePoints(const SeriesFilter& filter = {});
  StatusOr<std::vector<AaRow>> AaQuality(std::int64_t since_time = 0);

  // Conformance: of every case the newest result of its architecture, backend and variant.
  StatusOr<std::vector<ConformanceCell>> ConformanceMatrix();
  StatusOr<std::vector<ConformanceRow>> Conformance(const std::string& architecture = "",
                                                    const std::string& operation = "");

  // Totals of suites, by name and architecture. A test that failed in a suite without a total makes
  // one.
  StatusOr<std::vector<SuiteRow>> NewestSuites();

  // Everything, oldest first.
  StatusOr<std::vector<AcceptRecord>> Accepts();
  StatusOr<std::vector<ReleaseRecord>> Releases();

  Sqlite& db() { return *db_; }

 private:
  explicit HistoryReader(Sqlite db) : db_(std::make_unique<Sqlite>(std::move(db))) {}

  std::unique_ptr<Sqlite> db_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_HISTORY_READER_H_
