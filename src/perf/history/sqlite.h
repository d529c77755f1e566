// SQLite behind Status: a connection, and rows that close themselves.
//
//   DM_ASSIGN_OR_RETURN(Sqlite db, Sqlite::Open("history.db", SqliteMode::kReadWrite));
//   DM_RETURN_IF_ERROR(db.Run("INSERT INTO texts(text) VALUES (?)", text));
//   DM_ASSIGN_OR_RETURN(SqliteRows rows, db.Query("SELECT id FROM texts WHERE text = ?", text));
//   while (rows.Next()) use(rows.Int(0));
//   DM_RETURN_IF_ERROR(rows.status());
//
// Errors name the file and say what SQLite said:
//   INVALID_ARGUMENT    no path of a file: empty, ":memory:", or that of a device or a pipe
//   NOT_FOUND           no such file
//   UNAVAILABLE         locked by another process for longer than kBusyMilliseconds; permissions
//   RESOURCE_EXHAUSTED  disk, quota, file size or memory used up
//   DATA_LOSS           the file is damaged, or is no SQLite database
//   INTERNAL            the rest: a bug
//
// Statements are compiled once per connection and kept. A connection belongs to one thread, as do
// its rows, which it must outlive. After a fork the child must not touch the parent's connection.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_SQLITE_H_
#define DRAFTMARK_SRC_PERF_HISTORY_SQLITE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace draftmark {

// Longer than any one transaction here takes; a nightly import must not fail for a dashboard.
inline constexpr int kBusyMilliseconds = 20000;

enum class SqliteMode {
  kReadOnly,   // the file must be there
  kReadWrite,  // the file must be there
  kCreate,     // made if it is not there
  kImmutable,  // read only, and nobody writes it meanwhile: needs no right to write beside it
};

using SqlValue = std::variant<std::nullopt_t, std::int64_t, double, std::string>;

// What a connection and its rows share.
class SqliteHandle;

// The rows of one query, in turn.
class SqliteRows {
 public:
  SqliteRows(SqliteRows&& other) noexcept;
  SqliteRows& operator=(SqliteRows&&) = delete;
  ~SqliteRows();

  // True if there is a row. False at the end and after an error, which status() then tells.
  bool Next();
  const Status& status() const { return status_; }

  bool IsNull(int column) const;
  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;  // "" for NULL
  std::optional<std::int64_t> OptionalInt(int column) const;
  std::optional<double> OptionalReal(int column) const;

 private:
  friend class Sqlite;
  SqliteRows(SqliteHandle* handle, std::string sql, sqlite3_stmt* statement)
      : handle_(handle), sql_(std::move(sql)), statement_(statement) {}

  Status Bind(int index, std::int64_t value);
  Status Bind(int index, int value) { return Bind(index, static_cast<std::int64_t>(value)); }
  Status Bind(int index, bool value) { return Bind(index, static_cast<std::int64_t>(value)); }
  Status Bind(int index, double value);
  Status Bind(int index, std::string_view value);
  Status Bind(int index, const std::string& value) { return Bind(index, std::string_view(value)); }
  Status Bind(int index, const char* value) { return Bind(index, std::string_view(value)); }
  Status Bind(int index, std::nullopt_t);
  Status Bind(int index, const SqlValue& value) {
    return std::visit([&](const auto& any) { return Bind(index, any); }, value);
  }
  template <typename T>
  Status Bind(int index, const std::optional<T>& value) {
    return value ? Bind(index, *value) : Bind(index, std::nullopt);
  }
  Status CheckBound(int result);

  SqliteHandle* handle_;
  std::string sql_;
  sqlite3_stmt* statement_;
  Status status_;
};

// DATA_LOSS, with what helps.
Status DamagedDatabaseError(const std::string& path, std::string_view what);

class Sqlite {
 public:
  static StatusOr<Sqlite> Open(const std::string& path, SqliteMode mode);
  Sqlite(Sqlite&&) noexcept;
  Sqlite& operator=(Sqlite&&) noexcept;
  ~Sqlite();

  // One statement; arguments take the places of its question marks. NULL: std::nullopt.
  template <typename... Arguments>
  StatusOr<SqliteRows> Query(std::string_view sql, const Arguments&... arguments) {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, Prepare(sql));
    int index = 0;
    Status status;
    ((status.ok() ? (void)(status = rows.Bind(++index, arguments)) : (void)0), ...);
    DM_RETURN_IF_ERROR(status);
    return StatusOr<SqliteRows>(std::move(rows));
  }
  // The same for a statement whose rows nobody needs.
  template <typename... Arguments>
  Status Run(std::string_view sql, const Arguments&... arguments) {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, Query(sql, arguments...));
    while (rows.Next()) {
    }
    return rows.status();
  }
  // The same for values whose number is known only when it runs.
  Status RunValues(std::string_view sql, const std::vector<SqlValue>& values) {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, Prepare(sql));
    int index = 0;
    for (const SqlValue& value : values) DM_RETURN_IF_ERROR(rows.Bind(++index, value));
    while (rows.Next()) {
    }
    return rows.status();
  }
  // Of some statements, as a change of the journal mode, SQLite says at once that the database is
  // locked instead of waiting. This waits.
  Status RunPatiently(std::string_view sql);
  // Any number of statements without arguments, as a schema is.
  Status RunScript(const std::string& sql);

  // Makes `target` a copy of this database, in one transaction; other processes may have it open.
  Status CopyTo(Sqlite& target);

  // The first column of the only row, or none.
  template <typename... Arguments>
  StatusOr<std::optional<std::int64_t>> OneInt(std::string_view sql,
                                               const Arguments&... arguments) {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, Query(sql, arguments...));
    std::optional<std::int64_t> value;
    if (rows.Next()) value = rows.OptionalInt(0);
    DM_RETURN_IF_ERROR(rows.status());
    return value;
  }

  std::int64_t LastRowId() const;
  std::int64_t ChangedRows() const;  // by the last statement
  const std::string& path() const;

 private:
  explicit Sqlite(std::unique_ptr<SqliteHandle> handle);
  StatusOr<SqliteRows> Prepare(std::string_view sql);

  std::unique_ptr<SqliteHandle> handle_;
};

// Rolls back unless committed. Takes the right to write at once, so that two writers wait for each
// other here and not in the middle.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(Sqlite& db) : db_(db) {}
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction();
  Status Begin();
  Status Commit();

 private:
  Sqlite& db_;
  bool open_ = false;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_SQLITE_H_
