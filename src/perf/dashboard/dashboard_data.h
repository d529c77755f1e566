// What the dashboard shows, as plain data: no database, no HTML.
//
//   DM_ASSIGN_OR_RETURN(DashboardData data, LoadDashboard(history));   // or MakeDemoData(...)
//   AnalyseTrends(data);                                               // trend.h
//   const std::string html = RenderPage(data);                         // page.h
//
// Indices point into the vectors of the same DashboardData. Times are seconds since 1970 in UTC;
// values of series are seconds, sizes are bytes. Text is whatever the machine that measured wrote:
// every writer escapes it for its format (markup.h). Plain values, as thread-safe as their members.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_DASHBOARD_DATA_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_DASHBOARD_DATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/perf/verdict.h"

namespace draftmark {

// Where times may be compared with each other. A new driver or CUDA stays on the same testbed: the
// trend goes on, and the page marks the night on which it changed.
struct DashboardTestbed {
  std::string architecture = {};   // sm_90
  std::string gpu = {};            // NVIDIA H200
  std::string clocks_policy = {};  // locked, default; empty: unknown
  // Bytes per second of a copy, and FLOPs per second at most: the roofs. Absent: not measured.
  std::optional<double> copy_bandwidth = {};
  std::optional<double> peak_flops = {};
};

// One night, or one measurement by hand, on one testbed.
struct DashboardRun {
  std::string id = {};
  std::size_t testbed = 0;
  std::int64_t time = 0;
  std::string commit = {};
  std::string driver = {};
  std::string cuda = {};
  std::string clocks = {};   // what was measured: "SM 1980 MHz, memory 2619 MHz"; empty: unknown
  std::string command = {};  // that made it
  std::string note = {};     // why it is not to be trusted; empty: it is
};

struct DashboardPoint {
  std::size_t run = 0;
  double value = 0;  // as it was measured
  // The same over the sentinel of its night, times the median of all nights' sentinels, so that it
  // stays a time; 0: not known.
  double steady = 0;
};

// Nights without a change of level between them, and what may be seen of them by noise alone.
struct TrendSegment {
  std::size_t first = 0;  // index of its first point
  double level = 0;
  double low = 0;  // the noise band
  double high = 0;
};

struct DashboardSeries {
  std::string case_id = {};
  std::size_t testbed = 0;
  std::vector<DashboardPoint> points = {};  // ascending by time, at most one of a run
  std::string reproduce = {};               // a shell line that measures the case again
  // Of the newest point; absent: unknown.
  std::optional<double> floor_share = {};  // floor over time: 1 is the limit
  std::optional<double> bytes_per_second = {};
  std::optional<double> flops_per_second = {};
  // Made by AnalyseTrends. Every segment but the first begins at a change point.
  std::vector<TrendSegment> segments = {};
};

struct DashboardVerdict {
  std::string case_id = {};
  std::string metric = {};  // the name of an exact count; empty: time
  std::size_t testbed = 0;
  std::int64_t time = 0;
  Verdict verdict = Verdict::kUnclear;
  std::string reason = {};  // of unclear and invalid; else empty
  std::optional<std::uint64_t> old_count = {}, new_count = {};  // of an exact count
  std::optional<double> ratio = {};
  std::optional<Interval> shift = {};  // of the ratio, 99.8 %
  std::optional<double> p = {};
  std::optional<double> detectable = {};  // share
  std::string source = {};                // gate, nightly
  std::string base_commit = {};
  std::string commit = {};
  std::string driver = {};
  std::string clocks = {};
  std::string reproduce = {};
};

struct ReleaseMark {
  std::int64_t time = 0;
  std::string label = {};
  std::string commit = {};
};

// An exact number: no statistics, any increase over `recorded` is a failure.
struct DashboardCount {
  std::string architecture = {};
  std::string case_id = {};  // scratch/... is shown as a part of a stacked bar
  std::string field = {};
  std::uint64_t value = 0;
  std::optional<std::uint64_t> recorded = {};  // absent: nothing recorded yet
  bool is_bytes = true;
  std::string commit = {};
};

enum class CellState { kNeverRun, kPassed, kWaived, kFailed };

struct MatrixCell {
  std::string operation = {};
  std::string architecture = {};
  CellState state = CellState::kNeverRun;
  std::size_t cases = 0;                  // that were judged
  std::optional<double> used_share = {};  // of the tolerance, worst case; 1 is the bound
  // Of a waiver or failure: reason, owner, last day, link. Of kNeverRun: what is known beside the
  // history, "run: ...", "compiled: ..." or "never run: ..."; may be empty.
  std::string detail = {};
};

// A suite of tests or checks beside the matrix: its newest total on an architecture.
struct DashboardSuite {
  std::string name = {};
  std::string architecture = {};
  bool failed = false;  // something of it failed, or it left no results
  std::uint64_t failures = 0, passed = 0, skipped = 0;
  std::string detail = {};  // of a failure: what became of the program, or which tests failed
  std::string commit = {};
  std::int64_t time = 0;
};

// A/A comparisons of one testbed over the time that the history holds.
struct AaQuality {
  struct Case {
    std::string case_id = {};
    std::size_t comparisons = 0;
    std::size_t false_alarms = 0;
    double spread = 0;      // of the A/A ratios, a share; without comparisons not known
    double detectable = 0;  // with 95 % power, a share; 0: nothing
  };
  std::size_t testbed = 0;
  std::size_t comparisons = 0;  // that have a verdict; without any nothing is known
  std::size_t false_alarms = 0;
  bool advisory = false;         // too many: the gate of this testbed does not fail builds
  std::vector<Case> cases = {};  // the largest detectable shift first
};

struct DashboardData {
  std::string title = "Draftmark";
  std::string source = {};  // the database, or the seed of the demo
  std::int64_t now = 0;     // when the page was made
  bool is_demo = false;
  std::vector<DashboardTestbed> testbeds = {};
  std::vector<DashboardRun> runs = {};  // ascending by time
  std::vector<DashboardSeries> series = {};
  std::vector<DashboardVerdict> verdicts = {};  // newest first, of one time the worst first
  std::vector<ReleaseMark> releases = {};       // ascending by time
  std::vector<DashboardCount> counts = {};
  std::vector<MatrixCell> conformance = {};
  std::vector<DashboardSuite> suites = {};  // failed ones first
  std::vector<AaQuality> aa = {};
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_DASHBOARD_DATA_H_
