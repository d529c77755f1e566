// What the history holds: records, each of which is one JSONL file (record_jsonl.h) and the rows of
// the database that are made of it (schema.h). A record is never changed once it is written.
//
//   RunRecord       one process that measured, counted or checked something: points by case
//   GateRecord      what a comparison of runs came to: verdicts by case, change points
//   AaRecord        comparisons of a build with itself: false alarms, detectable shifts
//   AcceptRecord    an exact count that may be larger from now on, and why
//   ReleaseRecord   a mark on the time axis
//   NightRecord     what is kept of the runs of a night once retention has dropped them
//
// A measurement is found again by its environment (architecture, GPU, driver, CUDA, clocks policy),
// its case id and its schema, the version of what the case measures: a case that measures something
// else from now on keeps its name and gets a new schema, so that no trend crosses that day.
//
// Times of day are seconds since 1970 in UTC; measured times are seconds, `unit` only says in what
// people read them. Nothing here may hold the name of a host, a user or a folder: records of many
// machines are merged and published.
//
// Plain values. Canonical order (Canonicalize) makes equal records equal texts.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RECORD_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// Empty where it does not apply, as the driver of a CPU.
struct Environment {
  std::string architecture = {};  // "sm_90", "cpu"
  std::string gpu = {};           // "NVIDIA H200"
  std::string driver = {};        // "580.159.04"
  std::string cuda = {};          // "13.0"
  std::string clocks = {};        // the policy: "default", "locked", "locked 1980 MHz"

  auto operator<=>(const Environment&) const = default;
};

using NamedInts = std::vector<std::pair<std::string, std::int64_t>>;
using NamedNumbers = std::vector<std::pair<std::string, double>>;
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::int64_t kFirstCaseSchema = 1;

// What one run says of one case: a time, or why there is none, or only counts. At least one.
struct Point {
  std::string case_id = {};
  std::int64_t schema = kFirstCaseSchema;
  std::optional<double> seconds = std::nullopt;  // the run's value (run_value.h): decides
  std::optional<double> median = std::nullopt;   // seconds, of the samples: shown beside it
  std::int64_t samples = 0;                      // that `seconds` is made of
  std::int64_t voided = 0;                       // samples left out as contaminated
  std::string unit = {};                         // ns, us, ms or s; empty without a time
  std::string marks = {};      // contamination: "clock moved,other process"; empty: none
  std::string failure = {};    // the benchmark's own message; then there is no time
  std::string reproduce = {};  // a command
  std::optional<double> bytes_per_second = std::nullopt;
  std::optional<double> flops_per_second = std::nullopt;
  std::optional<double> copy_share = std::nullopt;   // of the GPU's copy bandwidth
  std::optional<double> floor_share = std::nullopt;  // floor over time: 1 is the limit
  NamedInts counts = {};      // exact: bytes of memory by field, launches, allocations
  NamedNumbers numbers = {};  // whatever else was measured

  bool operator==(const Point&) const = default;
};

// One case of a conformance run. `status` is as `draftmark verify` prints it: PASS, FAIL, XFAIL,
// UNEXPECTED PASS, EXPIRED, CHANGED SIGNATURE.
struct ConformanceResult {
  std::string case_id = {};
  std::string precision = {};  // exact, bf16
  std::string backend = {};    // reference, cuda
  std::string variant = {};    // of the backend: "scratch v1", "path fast"; empty: its usual one
  std::string status = {};
  std::optional<double> used_share =
      std::nullopt;            // of the tolerance; absent where nothing has one
  std::string signature = {};  // of a failure
  std::string waiver = {};     // reason of the expectation that applies; empty: none
  std::string expires = {};    // its last day
  std::string reproduce = {};

  bool operator==(const ConformanceResult&) const = default;
};
bool IsConformanceFailure(std::string_view status);

// The program of a bundle's benchmark run: what it counts as failed are missed goals of speed.
inline constexpr std::string_view kBenchProgram = "draftmark-gpu/run bench";

// One program of a bundle's run, and the names of its tests that did not pass.
struct SuiteResult {
  std::string name = {};
  std::int64_t passed = 0, failed = 0, skipped = 0;
  std::string problem = {};  // of the program itself; empty: none

  bool operator==(const SuiteResult&) const = default;
};
// Of a suite in a run of `program`: whether something of it failed, or it left no results.
bool IsSuiteFailure(std::string_view program, const SuiteResult& suite);

struct TestResult {
  std::string suite = {}, test = {};
  std::string status = {};  // failed, error, skipped
  std::string message = {};

  bool operator==(const TestResult&) const = default;
};

struct RunRecord {
  std::int64_t time = 0;
  std::string night = {};  // "2026-11-30": the night it counts for; empty: its day in UTC
  std::string commit = {};
  Environment environment = {};
  std::string program = {};  // draft_benchmark, draftmark_verify
  std::string session = {};  // what the runs of one job share
  std::int64_t number = 0;   // of this process in its session
  bool valid = true;         // false: contaminated or too noisy, so no evidence
  std::string reason = {};   // of not valid
  std::string command = {};
  std::string source = {};         // name of the file that it was imported from, without folders
  std::string source_sha256 = {};  // and of its bytes, which then decide the id
  NamedTexts context = {};         // versions, clocks, copy bandwidth
  std::vector<Point> points = {};
  std::vector<ConformanceResult> conformance = {};
  std::vector<SuiteResult> suites = {};
  std::vector<TestResult> tests = {};

  bool operator==(const RunRecord&) const = default;
};

// `metric` is "time", or the name of a count; then old_count and new_count are the values.
struct GateVerdict {
  std::string case_id = {};
  std::int64_t schema = kFirstCaseSchema;
  std::string metric = "time";
  std::string verdict = {};  // faster, same, slower, unclear, invalid
  std::string reason = {};
  std::optional<double> ratio = std::nullopt;                           // new over base
  std::optional<double> ci_low = std::nullopt, ci_high = std::nullopt;  // 99.8 %, of the ratio
  std::optional<double> p = std::nullopt;
  std::optional<double> variation = std::nullopt;   // run to run, a share
  std::optional<double> detectable = std::nullopt;  // shift, a share
  std::optional<double> floor = std::nullopt;       // least shift that counts, a share
  std::optional<double> base = std::nullopt, next = std::nullopt;  // seconds
  std::int64_t base_runs = 0, next_runs = 0;
  std::optional<std::int64_t> old_count = std::nullopt, new_count = std::nullopt;
  std::optional<bool> confirmed = std::nullopt;  // by fresh runs; absent: not asked
  std::string reproduce = {};

  bool operator==(const GateVerdict&) const = default;
};

// A step in a nightly trend.
struct ChangePoint {
  std::string case_id = {};
  std::int64_t schema = kFirstCaseSchema;
  std::string night = {};        // the first one on the new level
  std::string commit = {};       // of that night
  double before = 0, after = 0;  // seconds
  bool confirmed = false;

  bool operator==(const ChangePoint&) const = default;
};

struct GateRecord {
  std::int64_t time = 0;
  std::string night = {};  // of mode nightly; else empty
  std::string mode = {};   // compare, gate, nightly, counts
  Environment environment = {};
  std::string base_commit = {}, next_commit = {};
  std::string verdict = {};  // of all cases together
  std::int64_t exit_code = 0;
  bool advisory = false;  // A/A runs found the machine too noisy to fail a build
  std::string command = {};
  NamedTexts context = {};
  std::vector<std::string> base_runs = {}, next_runs = {};  // ids
  std::vector<GateVerdict> verdicts = {};
  std::vector<ChangePoint> change_points = {};

  bool operator==(const GateRecord&) const = default;
};

struct AaResult {
  std::string case_id = {};
  std::int64_t schema = kFirstCaseSchema;
  std::int64_t comparisons = 0, false_alarms = 0, unclear = 0, invalid = 0;
  double spread = 0;      // of the ratios of the comparisons, a share
  double detectable = 0;  // shift found with 95 % power; 0: too few runs

  bool operator==(const AaResult&) const = default;
};

struct AaRecord {
  std::int64_t time = 0;
  Environment environment = {};
  std::string commit = {};
  bool advisory = false;  // what these results make of the gate
  std::string command = {};
  NamedTexts context = {};
  std::vector<AaResult> results = {};

  bool operator==(const AaRecord&) const = default;
};

struct AcceptRecord {
  std::int64_t time = 0;
  std::string architecture = {};  // empty: all
  std::string case_id = {};
  std::int64_t schema = kFirstCaseSchema;
  std::string field = {};
  std::optional<std::int64_t> old_value = std::nullopt;  // absent: there was none
  std::int64_t new_value = 0;
  std::string reason = {};
  std::string commit = {};

  bool operator==(const AcceptRecord&) const = default;
};

struct ReleaseRecord {
  std::int64_t time = 0;
  std::string name = {};
  std::string commit = {};
  std::string note = {};

  bool operator==(const ReleaseRecord&) const = default;
};

struct NightPoint {
  std::string case_id = {};
  std::int64_t schema = kFirstCaseSchema;
  std::optional<double> seconds = std::nullopt;  // median of the values of the valid runs
  std::optional<double> low = std::nullopt, high = std::nullopt;  // least and largest of them
  std::int64_t runs = 0;                                          // valid ones with a time
  std::int64_t samples = 0;                                       // of all of them together
  std::string unit = {};
  std::optional<double> copy_share = std::nullopt, floor_share = std::nullopt;  // medians
  NamedInts counts = {};                                                        // of the last run

  bool operator==(const NightPoint&) const = default;
};

struct NightRecord {
  std::int64_t time = 0;  // of the last run
  std::string night = {};
  Environment environment = {};
  std::string commit = {};                 // of the last run
  std::vector<std::string> replaces = {};  // ids of the runs; they are not taken in again
  std::vector<NightPoint> points = {};

  bool operator==(const NightRecord&) const = default;
};

using HistoryRecord =
    std::variant<RunRecord, GateRecord, AaRecord, AcceptRecord, ReleaseRecord, NightRecord>;

// "run", "gate", "aa", "accept", "release", "night".
std::string_view KindOf(const HistoryRecord& record);

// Sorts what has no order of its own, and fills what is derived (night).
void Canonicalize(HistoryRecord& record);

// INVALID_ARGUMENT, naming the field: a name that is empty, too long, not UTF-8 or has control
// characters; a time, share or spread that is no number or negative; an entry given twice; a night
// that is no day; a point that says nothing; a count below 0; a verdict that is none. For canonical
// records.
Status CheckRecord(const HistoryRecord& record);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RECORD_H_
