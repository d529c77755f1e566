// The tables of the history's database, and how an older file becomes a newer one.
//
//   DM_RETURN_IF_ERROR(MigrateHistory(db));        // a new, an older or a current file
//   DM_RETURN_IF_ERROR(CheckHistorySchema(db));    // read only: must be current
//
// records           one row per JSONL file: uid, kind, time, SHA-256 of the content
// environments      architecture, gpu, driver, cuda, clocks: the key, less case and schema
// cases, series     a series is one environment, case and schema: a line in the dashboard
// runs, points      one process; one row per series that it measured, clustered by series
// counts, numbers   exact integers and other figures of points
// conformance, suites, tests     what a run checked; `operation` is the row of the matrix
// gates, gate_runs, gate_verdicts, change_points     comparisons
// aa, aa_results    A/A quality
// accepts, releases
// nights, night_points, night_counts, replaced_runs  what retention keeps
// context           names and texts of any record
// texts             what repeats (marks, messages, commands, names of counts), stored once
//
// Everything hangs on `records` by foreign keys, so that deleting a record deletes its rows. All
// tables are STRICT. Rebuilding from JSONL gives the same content, with other row ids.
//
// Versions. 1: the first. 2: change_points; gates.advisory and gates.night; conformance.operation,
// filled from the case ids; the tables of retention. A file of a newer version is refused and left
// alone. `schema_version` has one row; application_id says that the file is a history at all.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_SCHEMA_H_
#define DRAFTMARK_SRC_PERF_HISTORY_SCHEMA_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/perf/history/sqlite.h"

namespace draftmark {

inline constexpr std::int64_t kHistorySchemaVersion = 2;
inline constexpr std::int64_t kHistoryApplicationId = 0x444D4831;  // "DMH1"

// Each step is a transaction: a crash leaves the old version. FAILED_PRECONDITION: newer, or
// another program's database.
Status MigrateHistory(Sqlite& db);
// FAILED_PRECONDITION also for an older one.
Status CheckHistorySchema(Sqlite& db);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_SCHEMA_H_
