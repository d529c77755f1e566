#include "src/perf/history/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "src/base/check.h"
#include "src/base/errno_status.h"

namespace draftmark {

class SqliteHandle {
 public:
  SqliteHandle(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  SqliteHandle(const SqliteHandle&) = delete;
  SqliteHandle& operator=(const SqliteHandle&) = delete;
  ~SqliteHandle() {
    for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
    sqlite3_close_v2(db_);
  }

  // What SQLite's result code means; `result` may be an extended one.
  Status ErrorOf(int result) const;

  // A compiled statement that nobody uses now, or a new one.
  StatusOr<sqlite3_stmt*> Take(const std::string& sql) {
    if (const auto at = idle_.find(sql); at != idle_.end()) {
      sqlite3_stmt* const statement = at->second;
      idle_.erase(at);
      return statement;
    }
    sqlite3_stmt* statement = nullptr;
    const int result = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (result != SQLITE_OK) return ErrorOf(result);
    DM_CHECK(statement != nullptr);
    return statement;
  }
  void GiveBack(std::string sql, sqlite3_stmt* statement) {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    idle_.emplace(std::move(sql), statement);
  }

  sqlite3* db() const { return db_; }
  bool was_busy() const { return was_busy_; }  // the last error
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  sqlite3* const db_;
  mutable bool was_busy_ = false;
  std::multimap<std::string, sqlite3_stmt*> idle_;
};

Status SqliteHandle::ErrorOf(int result) const {
  const int primary = result & 0xFF;
  was_busy_ = primary == SQLITE_BUSY;
  const std::string said = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(result);
  const int system = db_ != nullptr ? sqlite3_system_errno(db_) : 0;
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return UnavailableError(
          fmt::format("{}: another process has locked it for more than {} s ({})", path_,
                      kBusyMilliseconds / 1000, said));
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ResourceExhaustedError(fmt::format("{}: cannot write: {}", path_, said));
    case SQLITE_IOERR:
      if (system != 0) return ErrnoStatus(system, "write or read", path_);
      // SQLite does not keep the reason of every write that failed; a file that may not grow is
      // one.
      if (result == SQLITE_IOERR_WRITE || result == SQLITE_IOERR_FSYNC ||
          result == SQLITE_IOERR_TRUNCATE || result == SQLITE_IOERR_SHMSIZE) {
        return ResourceExhaustedError(
            fmt::format("{}: cannot write: {}; is the disk full?", path_, said));
      }
      return UnavailableError(fmt::format("{}: {} (SQLite code {})", path_, said, result));
    case SQLITE_CANTOPEN:
      if (system != 0) return ErrnoStatus(system, "open", path_);
      return UnavailableError(fmt::format("{}: {} (SQLite code {})", path_, said, result));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return UnavailableError(fmt::format("{}: cannot write: {}", path_, said));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DamagedDatabaseError(path_, said);
    default:
      return InternalError(fmt::format("{}: {} (SQLite code {})", path_, said, result));
  }
}

SqliteRows::SqliteRows(SqliteRows&& other) noexcept
    : handle_(other.handle_),
      sql_(std::move(other.sql_)),
      statement_(std::exchange(other.statement_, nullptr)),
      status_(std::move(other.status_)) {}

SqliteRows::~SqliteRows() {
  if (statement_ != nullptr) handle_->GiveBack(std::move(sql_), statement_);
}

bool SqliteRows::Next() {
  if (!status_.ok()) return false;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) status_ = handle_->ErrorOf(result);
  return false;
}

bool SqliteRows::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
std::int64_t SqliteRows::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double SqliteRows::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string SqliteRows::Text(int column) const {
  const void* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  return {static_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
std::optional<std::int64_t> SqliteRows::OptionalInt(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Int(column);
}
std::optional<double> SqliteRows::OptionalReal(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Real(column);
}

Status SqliteRows::CheckBound(int result) {
  return result == SQLITE_OK ? OkStatus() : handle_->ErrorOf(result);
}
Status SqliteRows::Bind(int index, std::int64_t value) {
  return CheckBound(sqlite3_bind_int64(statement_, index, value));
}
Status SqliteRows::Bind(int index, double value) {
  return CheckBound(sqlite3_bind_double(statement_, index, value));
}
Status SqliteRows::Bind(int index, std::string_view value) {
  // An empty view may have a null pointer, which SQLite would take for NULL.
  const char* const data = value.data() != nullptr ? value.data() : "";
  return CheckBound(
      sqlite3_bind_text64(statement_, index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}
Status SqliteRows::Bind(int index, std::nullopt_t) {
  return CheckBound(sqlite3_bind_null(statement_, index));
}

Status DamagedDatabaseError(const std::string& path, std::string_view what) {
  return DataLossError(fmt::format(
      "{0}: the database is damaged ({1}); `draftmark history rebuild --db {0}` makes it "
      "again from {0}.runs",
      path, what));
}

namespace {

// SQLite tries to open for reading after it could not create, and keeps the reason of that only.
Status WhyNotCreated(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "open or create", path);
  ::close(fd);
  return UnavailableError(path + ": cannot be opened as a database");
}

}  // namespace

StatusOr<Sqlite> Sqlite::Open(const std::string& path, SqliteMode mode) {
  // SQLite would open a private temporary database for "", and one in memory for ":memory:".
  if (path.empty() || path.find('\0') != std::string::npos || path == ":memory:") {
    return InvalidArgumentError(fmt::format("\"{}\": expected the path of a database file", path));
  }
  // SQLite would leave a journal beside a device, and say that its disk is full.
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return InvalidArgumentError(
        fmt::format("{}: expected a database, found a device, a pipe or a socket", path));
  }
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path;
  switch (mode) {
    case SqliteMode::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case SqliteMode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case SqliteMode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case SqliteMode::kImmutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = "file:";
      for (const char c : path) {
        // What has a meaning in a URI.
        name += c == '?' || c == '#' || c == '%'
                    ? fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)))
                    : std::string(1, c);
      }
      name += "?immutable=1";
      break;
  }
  sqlite3* db = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &db, flags, nullptr);
  auto handle = std::make_unique<SqliteHandle>(path, db);
  if (result != SQLITE_OK) {
    if (mode == SqliteMode::kCreate && (result & 0xFF) == SQLITE_CANTOPEN)
      return WhyNotCreated(path);
    return handle->ErrorOf(result);
  }
  sqlite3_busy_timeout(db, kBusyMilliseconds);
  Sqlite opened(std::move(handle));
  DM_RETURN_IF_ERROR(opened.Run("PRAGMA foreign_keys = ON"));
  return opened;
}

Sqlite::Sqlite(std::unique_ptr<SqliteHandle> handle) : handle_(std::move(handle)) {}
Sqlite::Sqlite(Sqlite&&) noexcept = default;
Sqlite& Sqlite::operator=(Sqlite&&) noexcept = default;
Sqlite::~Sqlite() = default;

StatusOr<SqliteRows> Sqlite::Prepare(std::string_view sql) {
  std::string text(sql);
  DM_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, handle_->Take(text));
  return SqliteRows(handle_.get(), std::move(text), statement);
}

Status Sqlite::RunScript(const std::string& sql) {
  const int result = sqlite3_exec(handle_->db(), sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? OkStatus() : handle_->ErrorOf(result);
}

Status Sqlite::RunPatiently(std::string_view sql) {
  constexpr int kStepMilliseconds = 5;
  for (int waited = 0;; waited += kStepMilliseconds) {
    Status status = Run(sql);
    const bool busy = status.code() == StatusCode::kUnavailable && handle_->was_busy();
    if (!busy || waited >= kBusyMilliseconds) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(kStepMilliseconds));
  }
}

Status Sqlite::CopyTo(Sqlite& target) {
  sqlite3_backup* const backup =
      sqlite3_backup_init(target.handle_->db(), "main", handle_->db(), "main");
  if (backup == nullptr) return target.handle_->ErrorOf(sqlite3_errcode(target.handle_->db()));
  // All pages in one step, which waits for other writers as long as any statement does.
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (finished != SQLITE_OK) return target.handle_->ErrorOf(finished);
  return stepped == SQLITE_DONE ? OkStatus() : target.handle_->ErrorOf(stepped);
}

std::int64_t Sqlite::LastRowId() const { return sqlite3_last_insert_rowid(handle_->db()); }
std::int64_t Sqlite::ChangedRows() const { return sqlite3_changes64(handle_->db()); }
const std::string& Sqlite::path() const { return handle_->path(); }

SqliteTransaction::~SqliteTransaction() {
  // A failed statement may have rolled back already; then this says so, and nothing is lost.
  if (open_) (void)db_.Run("ROLLBACK").ok();
}
Status SqliteTransaction::Begin() {
  DM_RETURN_IF_ERROR(db_.Run("BEGIN IMMEDIATE"));
  open_ = true;
  return OkStatus();
}
Status SqliteTransaction::Commit() {
  DM_RETURN_IF_ERROR(db_.Run("COMMIT"));
  open_ = false;
  return OkStatus();
}

}  // namespace draftmark
