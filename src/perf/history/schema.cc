#include "src/perf/history/schema.h"

#include <fmt/format.h>

#include <optional>

#include "src/perf/history/schema_sql.h"

namespace draftmark {
namespace {

// 0 for a database without any table.
StatusOr<std::int64_t> VersionOf(Sqlite& db) {
  std::int64_t application = 0;
  std::int64_t tables = 0;
  {
    // In one statement: another process may make the tables between two.
    DM_ASSIGN_OR_RETURN(SqliteRows rows,
                        db.Query("SELECT application_id, (SELECT count(*) FROM sqlite_schema) "
                                 "FROM pragma_application_id"));
    if (rows.Next()) {
      application = rows.Int(0);
      tables = rows.Int(1);
    }
    DM_RETURN_IF_ERROR(rows.status());
  }
  if (application == 0 && tables == 0) return std::int64_t{0};
  if (application != kHistoryApplicationId) {
    return FailedPreconditionError(fmt::format(
        "{}: expected a history of draftmark, found another program's database (application id "
        "{:#x}); it was left as it is",
        db.path(), application));
  }
  const StatusOr<std::optional<std::int64_t>> version =
      db.OneInt("SELECT version FROM schema_version");
  // No such table, or no row.
  if (!version.ok() && version.status().code() != StatusCode::kInternal) return version.status();
  if (!version.ok() || !version->has_value() || **version < 1) {
    return DamagedDatabaseError(db.path(), "schema_version: expected one row with a version");
  }
  return **version;
}

Status CheckNotNewer(const Sqlite& db, std::int64_t version) {
  if (version <= kHistorySchemaVersion) return OkStatus();
  return FailedPreconditionError(fmt::format(
      "{}: schema_version: expected at most {}, found {}: a newer draftmark made it; use that one. "
      "The file was left as it is",
      db.path(), kHistorySchemaVersion, version));
}

// One version further. Looks again inside the transaction: another process may have done it.
Status Step(Sqlite& db, std::int64_t from) {
  SqliteTransaction transaction(db);
  DM_RETURN_IF_ERROR(transaction.Begin());
  DM_ASSIGN_OR_RETURN(const std::int64_t version, VersionOf(db));
  if (version != from) return OkStatus();
  if (from == 0) {
    DM_RETURN_IF_ERROR(db.RunScript(kSchemaVersion1));
    DM_RETURN_IF_ERROR(
        db.RunScript(fmt::format("PRAGMA application_id = {}", kHistoryApplicationId)));
  } else {
    DM_RETURN_IF_ERROR(db.RunScript(kSchemaVersion2));
  }
  return transaction.Commit();
}

}  // namespace

Status MigrateHistory(Sqlite& db) {
  while (true) {
    DM_ASSIGN_OR_RETURN(const std::int64_t version, VersionOf(db));
    DM_RETURN_IF_ERROR(CheckNotNewer(db, version));
    if (version == kHistorySchemaVersion) return OkStatus();
    DM_RETURN_IF_ERROR(Step(db, version));
  }
}

Status CheckHistorySchema(Sqlite& db) {
  DM_ASSIGN_OR_RETURN(const std::int64_t version, VersionOf(db));
  DM_RETURN_IF_ERROR(CheckNotNewer(db, version));
  if (version == kHistorySchemaVersion) return OkStatus();
  if (version == 0) {
    return FailedPreconditionError(
        fmt::format("{}: expected a history of draftmark, found an empty database", db.path()));
  }
  return FailedPreconditionError(
      fmt::format("{}: schema_version: expected {}, found {}: `draftmark history rebuild --db {}` "
                  "brings it up to date",
                  db.path(), kHistorySchemaVersion, version, db.path()));
}

}  // namespace draftmark
