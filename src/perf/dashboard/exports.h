// What a dashboard shows, as files for other programs.
//
//   WriteTextFile("out/points.csv", PointsCsv(data));       // every point of every trend
//   WriteTextFile("out/verdicts.csv", VerdictsCsv(data));   // every verdict, newest first
//   WriteTextFile("out/junit.xml", JunitXml(data));         // the newest state, as tests
//   WriteTextFile("out/metrics.txt", OpenMetrics(data));    // the newest state, as metrics
//
// Text is whatever the history holds, escaped for each format (markup.h); a spreadsheet is to
// import the CSV columns of text as text. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_EXPORTS_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_EXPORTS_H_

#include <string>

#include "src/perf/dashboard/dashboard_data.h"

namespace draftmark {

// RFC 4180, lines end with CR LF, times as 2026-11-29T02:24:17Z. Columns: time, architecture, gpu,
// clocks_policy, driver, cuda, clocks, commit, run, case, seconds, note, reproduce. Numbers are
// read back bit for bit.
std::string PointsCsv(const DashboardData& data);
// Columns: time, architecture, gpu, clocks_policy, case, metric, verdict, old_count, new_count,
// ratio, low, high, p, detectable, source, base_commit, commit, driver, clocks, reason, reproduce.
std::string VerdictsCsv(const DashboardData& data);

// One suite a testbed, one test a case by its newest verdict: slower is a failure, invalid an
// error, unclear is skipped. Then the suites "counts" (what has grown is a failure) and
// "conformance" (one test a cell; waived and never run are skipped).
std::string JunitXml(const DashboardData& data);

// OpenMetrics 1.0 text, gauges without timestamps, so that Prometheus' textfile collector takes it
// as it is:
//
//   draftmark_case_seconds, _case_floor_share, _case_level_seconds {architecture, gpu,
//     clocks_policy, case}: newest point, share of the floor, level of the newest segment
//   draftmark_case_verdict {..., metric}: a state set, 1 for the newest verdict
//   draftmark_case_change_ratio {...}: of the newest verdict, new over base
//   draftmark_run_info {architecture, gpu, clocks_policy, driver, cuda, commit}: newest run, and
//     draftmark_run_timestamp_seconds
//   draftmark_count {architecture, case, field}, draftmark_count_grown: exact numbers; 1 where it
//     has grown
//   draftmark_conformance_used_share, draftmark_conformance_failed {operation, architecture}
//   draftmark_suite_failed {suite, architecture}: 1 where a suite of tests failed
//   draftmark_aa_comparisons, draftmark_aa_false_alarms {architecture, gpu, clocks_policy}
std::string OpenMetrics(const DashboardData& data);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_EXPORTS_H_
