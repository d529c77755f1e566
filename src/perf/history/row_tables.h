// Which columns the fields of each record have, in the order of record_fields.h. A header's INSERT
// begins with its record, an item's with its series or case and its record; case and schema are no
// columns. Texts of the table `texts` are written by id and selected by text.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_ROW_TABLES_H_
#define DRAFTMARK_SRC_PERF_HISTORY_ROW_TABLES_H_

#include <string_view>

#include "src/perf/history/record.h"

namespace draftmark {

template <typename T>
struct RowTable;

#define DM_ENVIRONMENT_COLUMNS "e.architecture, e.gpu, e.driver, e.cuda, e.clocks"
#define DM_JOIN_ENVIRONMENT               \
  " x JOIN records r ON r.id = x.record " \
  "JOIN environments e ON e.id = x.environment WHERE x.record = ?"
#define DM_JOIN_SERIES                                                    \
  " x JOIN series s ON s.id = x.series JOIN cases c ON c.id = s.case_id " \
  "WHERE x.record = ? ORDER BY c.name, s.schema"

// Headers.

template <>
struct RowTable<RunRecord> {
  static constexpr std::string_view kInsert =
      "INSERT INTO runs (record, night, commit_id, environment, program, session, number, valid, "
      "reason, command, source, source_sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT r.time, x.night, x.commit_id, " DM_ENVIRONMENT_COLUMNS
      ", x.program, x.session, x.number, x.valid, x.reason, x.command, x.source, x.source_sha256 "
      "FROM runs" DM_JOIN_ENVIRONMENT;
};

template <>
struct RowTable<GateRecord> {
  static constexpr std::string_view kInsert =
      "INSERT INTO gates (record, night, mode, environment, base_commit, next_commit, verdict, "
      "exit_code, advisory, command) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT r.time, x.night, x.mode, " DM_ENVIRONMENT_COLUMNS
      ", x.base_commit, x.next_commit, x.verdict, x.exit_code, x.advisory, x.command "
      "FROM gates" DM_JOIN_ENVIRONMENT;
};

template <>
struct RowTable<AaRecord> {
  static constexpr std::string_view kInsert =
      "INSERT INTO aa (record, environment, commit_id, advisory, command) VALUES (?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT r.time, " DM_ENVIRONMENT_COLUMNS
      ", x.commit_id, x.advisory, x.command FROM aa" DM_JOIN_ENVIRONMENT;
};

template <>
struct RowTable<AcceptRecord> {
  static constexpr std::string_view kInsert =
      "INSERT INTO accepts (record, architecture, case_id, schema, field, old_value, new_value, "
      "reason, commit_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT r.time, x.architecture, c.name, x.schema, x.field, x.old_value, x.new_value, "
      "x.reason, x.commit_id FROM accepts x JOIN records r ON r.id = x.record "
      "JOIN cases c ON c.id = x.case_id WHERE x.record = ?";
};

template <>
struct RowTable<ReleaseRecord> {
  static constexpr std::string_view kInsert =
      "INSERT INTO releases (record, name, commit_id, note) VALUES (?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT r.time, x.name, x.commit_id, x.note FROM releases x "
      "JOIN records r ON r.id = x.record WHERE x.record = ?";
};

template <>
struct RowTable<NightRecord> {
  static constexpr std::string_view kInsert =
      "INSERT INTO nights (record, night, environment, commit_id) VALUES (?, ?, ?, ?)";
  static constexpr std::string_view kSelect = "SELECT r.time, x.night, " DM_ENVIRONMENT_COLUMNS
                                              ", x.commit_id FROM nights" DM_JOIN_ENVIRONMENT;
};

// Items of series.

template <>
struct RowTable<Point> {
  static constexpr std::string_view kInsert =
      "INSERT INTO points (series, record, seconds, median, samples, voided, unit, marks, failure, "
      "reproduce, bytes_per_second, flops_per_second, copy_share, floor_share) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT c.name, s.schema, x.seconds, x.median, x.samples, x.voided, x.unit, (SELECT "
      "text FROM texts WHERE id = x.marks), (SELECT text FROM texts WHERE id = x.failure), "
      "(SELECT text FROM texts WHERE id = x.reproduce), x.bytes_per_second, "
      "x.flops_per_second, x.copy_share, x.floor_share FROM points" DM_JOIN_SERIES;
};

template <>
struct RowTable<GateVerdict> {
  static constexpr std::string_view kInsert =
      "INSERT INTO gate_verdicts (series, record, metric, verdict, reason, ratio, ci_low, ci_high, "
      "p, variation, detectable, floor, base, next, base_runs, next_runs, old_count, new_count, "
      "confirmed, reproduce) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT c.name, s.schema, x.metric, x.verdict, (SELECT text FROM texts WHERE id = "
      "x.reason), x.ratio, x.ci_low, x.ci_high, x.p, x.variation, x.detectable, x.floor, "
      "x.base, x.next, x.base_runs, x.next_runs, x.old_count, x.new_count, x.confirmed, "
      "(SELECT text FROM texts WHERE id = x.reproduce) FROM gate_verdicts" DM_JOIN_SERIES
      ", x.metric";
};

template <>
struct RowTable<ChangePoint> {
  static constexpr std::string_view kInsert =
      "INSERT INTO change_points (series, record, night, commit_id, before, after, confirmed) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT c.name, s.schema, x.night, x.commit_id, x.before, x.after, x.confirmed "
      "FROM change_points" DM_JOIN_SERIES ", x.night";
};

template <>
struct RowTable<AaResult> {
  static constexpr std::string_view kInsert =
      "INSERT INTO aa_results (series, record, comparisons, false_alarms, unclear, invalid, "
      "spread, detectable) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT c.name, s.schema, x.comparisons, x.false_alarms, x.unclear, x.invalid, x.spread, "
      "x.detectable FROM aa_results" DM_JOIN_SERIES;
};

template <>
struct RowTable<NightPoint> {
  static constexpr std::string_view kInsert =
      "INSERT INTO night_points (series, record, seconds, low, high, runs, samples, unit, "
      "copy_share, floor_share) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT c.name, s.schema, x.seconds, x.low, x.high, x.runs, x.samples, x.unit, x.copy_share, "
      "x.floor_share FROM night_points" DM_JOIN_SERIES;
};

// Items of a run itself.

template <>
struct RowTable<ConformanceResult> {
  static constexpr std::string_view kInsert =
      "INSERT INTO conformance (case_id, operation, record, precision, backend, variant, status, "
      "used_share, signature, waiver, expires, reproduce) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT c.name, x.precision, x.backend, x.variant, x.status, x.used_share, "
      "x.signature, x.waiver, x.expires, (SELECT text FROM texts WHERE id = x.reproduce) "
      "FROM conformance x JOIN cases c ON c.id = x.case_id WHERE x.record = ? ORDER BY "
      "c.name, x.precision, x.backend, x.variant";
};

template <>
struct RowTable<SuiteResult> {
  static constexpr std::string_view kInsert =
      "INSERT INTO suites (record, name, passed, failed, skipped, problem) "
      "VALUES (?, ?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT name, passed, failed, skipped, problem FROM suites WHERE record = ? ORDER BY name";
};

template <>
struct RowTable<TestResult> {
  static constexpr std::string_view kInsert =
      "INSERT INTO tests (record, suite, test, status, message) VALUES (?, ?, ?, ?, ?)";
  static constexpr std::string_view kSelect =
      "SELECT suite, test, status, message FROM tests WHERE record = ? ORDER BY suite, test";
};

#undef DM_ENVIRONMENT_COLUMNS
#undef DM_JOIN_ENVIRONMENT
#undef DM_JOIN_SERIES

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_ROW_TABLES_H_
