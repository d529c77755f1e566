#include "src/perf/history/record_rows.h"

#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <vector>

#include "src/base/check.h"
#include "src/perf/history/record_fields.h"
#include "src/perf/history/row_tables.h"

namespace draftmark {
namespace {

// Keys whose texts are stored once, in `texts`; empty is NULL.
template <typename T>
bool IsShared(std::string_view key) {
  return key == "marks" || key == "failure" || key == "reproduce" ||
         (std::same_as<T, GateVerdict> && key == "reason");
}

template <typename T>
concept OfSeries = requires(T item) {
  item.schema;
};

// Turns the fields of one T into the values of its row, behind those that are there already.
template <typename T>
class RowBinder {
 public:
  RowBinder(RowNames& names, std::vector<SqlValue> values)
      : names_(names), values_(std::move(values)) {}

  const Status& status() const { return status_; }
  const std::vector<SqlValue>& values() const { return values_; }

  void operator()(const char* key, const std::string& text) {
    if (IsCaseKey(key)) return;
    if (!IsShared<T>(key)) {
      values_.emplace_back(text);
    } else if (text.empty()) {
      values_.emplace_back(std::nullopt);
    } else {
      PushId(names_.Text(text));
    }
  }
  void operator()(const char* key, std::int64_t value) {
    if (!IsCaseKey(key) && std::string_view(key) != "time") values_.emplace_back(value);
  }
  void operator()(const char*, double value) { values_.emplace_back(value); }
  void operator()(const char*, bool value) { values_.emplace_back(std::int64_t{value}); }
  template <typename V>
  void operator()(const char* key, const std::optional<V>& value) {
    if (value) {
      (*this)(key, *value);
    } else {
      values_.emplace_back(std::nullopt);
    }
  }
  void operator()(const char*, const Environment& environment) {
    PushId(names_.EnvironmentId(environment));
  }
  // These have tables of their own.
  template <typename V>
  void operator()(const char*, const std::vector<V>&) {}

 private:
  // An accepted change is its own row, and names its case in it.
  static bool IsCaseKey(std::string_view key) {
    if constexpr (std::same_as<T, AcceptRecord>) return false;
    return key == "case" || (OfSeries<T> && key == "schema");
  }
  void PushId(const StatusOr<std::int64_t>& id) {
    if (id.ok()) {
      values_.emplace_back(*id);
    } else if (status_.ok()) {
      status_ = id.status();
    }
  }

  RowNames& names_;
  std::vector<SqlValue> values_;
  Status status_;
};

// Writes the items of one record.
class ItemWriter {
 public:
  ItemWriter(Sqlite& db, RowNames& names, std::int64_t record, std::int64_t environment)
      : db_(db), names_(names), record_(record), environment_(environment) {}

  const Status& status() const { return status_; }

  template <typename T>
  void List(const char*, const std::vector<T>& items) {
    for (const T& item : items) {
      if (status_.ok()) status_ = Write(item);
    }
  }

 private:
  template <typename T>
  Status Write(const T& item) {
    std::vector<SqlValue> first;
    if constexpr (OfSeries<T>) {
      DM_ASSIGN_OR_RETURN(const std::int64_t series,
                          names_.Series(environment_, item.case_id, item.schema));
      first.emplace_back(series);
    } else if constexpr (requires { item.case_id; }) {
      DM_ASSIGN_OR_RETURN(const std::int64_t case_id, names_.Case(item.case_id));
      first.emplace_back(case_id);
      first.emplace_back(OperationOf(item.case_id));
    }
    const SqlValue series = first.empty() ? SqlValue(std::nullopt) : first.front();
    first.emplace_back(record_);
    RowBinder<T> binder(names_, std::move(first));
    Fields(binder, item);
    DM_RETURN_IF_ERROR(binder.status());
    DM_RETURN_IF_ERROR(db_.RunValues(RowTable<T>::kInsert, binder.values()));
    if constexpr (std::same_as<T, Point>) {
      DM_RETURN_IF_ERROR(
          Named("INSERT INTO counts (series, field, record, value) VALUES (?, ?, ?, ?)", series,
                item.counts));
      return Named("INSERT INTO numbers (series, name, record, value) VALUES (?, ?, ?, ?)", series,
                   item.numbers);
    }
    if constexpr (std::same_as<T, NightPoint>) {
      return Named("INSERT INTO night_counts (series, field, record, value) VALUES (?, ?, ?, ?)",
                   series, item.counts);
    }
    return OkStatus();
  }
  template <typename V>
  Status Named(std::string_view sql, const SqlValue& series,
               const std::vector<std::pair<std::string, V>>& named) {
    for (const auto& [name, value] : named) {
      DM_ASSIGN_OR_RETURN(const std::int64_t id, names_.Text(name));
      DM_RETURN_IF_ERROR(db_.RunValues(sql, {series, id, record_, value}));
    }
    return OkStatus();
  }

  Sqlite& db_;
  RowNames& names_;
  const std::int64_t record_;
  const std::int64_t environment_;
  Status status_;
};

Status WriteContext(Sqlite& db, std::int64_t record, const NamedTexts& context) {
  for (const auto& [name, value] : context) {
    DM_RETURN_IF_ERROR(
        db.Run("INSERT INTO context (record, name, value) VALUES (?, ?, ?)", record, name, value));
  }
  return OkStatus();
}

// What lies in tables of its own beside the header and the items.
Status WriteRest(Sqlite& db, std::int64_t record, const RunRecord& run) {
  return WriteContext(db, record, run.context);
}
Status WriteRest(Sqlite& db, std::int64_t record, const AaRecord& aa) {
  return WriteContext(db, record, aa.context);
}
Status WriteRest(Sqlite& db, std::int64_t record, const GateRecord& gate) {
  for (const bool base : {true, false}) {
    for (const std::string& uid : base ? gate.base_runs : gate.next_runs) {
      DM_RETURN_IF_ERROR(db.Run("INSERT INTO gate_runs (record, side, uid) VALUES (?, ?, ?)",
                                record, base ? "base" : "new", uid));
    }
  }
  return WriteContext(db, record, gate.context);
}
Status WriteRest(Sqlite& db, std::int64_t record, const NightRecord& night) {
  for (const std::string& uid : night.replaces) {
    DM_RETURN_IF_ERROR(
        db.Run("INSERT INTO replaced_runs (uid, record) VALUES (?, ?)", uid, record));
    DM_RETURN_IF_ERROR(db.Run("DELETE FROM records WHERE uid = ? AND kind = 'run'", uid));
  }
  return OkStatus();
}
Status WriteRest(Sqlite&, std::int64_t, const AcceptRecord&) { return OkStatus(); }
Status WriteRest(Sqlite&, std::int64_t, const ReleaseRecord&) { return OkStatus(); }

template <typename T>
Status WriteRows(Sqlite& db, RowNames& names, std::int64_t record, const T& any) {
  std::int64_t environment = 0;
  if constexpr (requires { any.environment; }) {
    DM_ASSIGN_OR_RETURN(environment, names.EnvironmentId(any.environment));
  }
  RowBinder<T> header(names, {record});
  if constexpr (std::same_as<T, AcceptRecord>) {
    DM_ASSIGN_OR_RETURN(const std::int64_t case_id, names.Case(any.case_id));
    return db.Run(RowTable<T>::kInsert, record, any.architecture, case_id, any.schema, any.field,
                  any.old_value, any.new_value, any.reason, any.commit);
  }
  Fields(header, any);
  DM_RETURN_IF_ERROR(header.status());
  DM_RETURN_IF_ERROR(db.RunValues(RowTable<T>::kInsert, header.values()));
  ItemWriter items(db, names, record, environment);
  Items(items, any);
  DM_RETURN_IF_ERROR(items.status());
  return WriteRest(db, record, any);
}

}  // namespace

std::string OperationOf(const std::string& case_id) {
  const std::size_t begin = case_id.starts_with("op/") ? 3 : 0;
  const std::size_t slash = case_id.find('/', begin);
  return case_id.substr(0, slash != std::string::npos ? slash : begin == 3 ? 2 : slash);
}

StatusOr<std::int64_t> RowNames::Text(const std::string& text) {
  if (const auto at = texts_.find(text); at != texts_.end()) return at->second;
  DM_RETURN_IF_ERROR(db_.Run("INSERT OR IGNORE INTO texts (text) VALUES (?)", text));
  DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> id,
                      db_.OneInt("SELECT id FROM texts WHERE text = ?", text));
  return texts_[text] = id.value_or(0);
}

StatusOr<std::int64_t> RowNames::Case(const std::string& name) {
  if (const auto at = cases_.find(name); at != cases_.end()) return at->second;
  DM_RETURN_IF_ERROR(db_.Run("INSERT OR IGNORE INTO cases (name) VALUES (?)", name));
  DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> id,
                      db_.OneInt("SELECT id FROM cases WHERE name = ?", name));
  return cases_[name] = id.value_or(0);
}

StatusOr<std::int64_t> RowNames::EnvironmentId(const Environment& e) {
  if (const auto at = environments_.find(e); at != environments_.end()) return at->second;
  DM_RETURN_IF_ERROR(
      db_.Run("INSERT OR IGNORE INTO environments (architecture, gpu, driver, cuda, clocks) "
              "VALUES (?, ?, ?, ?, ?)",
              e.architecture, e.gpu, e.driver, e.cuda, e.clocks));
  DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> id,
                      db_.OneInt("SELECT id FROM environments WHERE architecture = ? AND gpu = ? "
                                 "AND driver = ? AND cuda = ? AND clocks = ?",
                                 e.architecture, e.gpu, e.driver, e.cuda, e.clocks));
  return environments_[e] = id.value_or(0);
}

StatusOr<std::int64_t> RowNames::Series(std::int64_t environment, const std::string& case_id,
                                        std::int64_t schema) {
  DM_ASSIGN_OR_RETURN(const std::int64_t case_row, Case(case_id));
  std::map<std::int64_t, std::int64_t>& schemas = series_[{environment, case_row}];
  if (const auto at = schemas.find(schema); at != schemas.end()) return at->second;
  DM_RETURN_IF_ERROR(
      db_.Run("INSERT OR IGNORE INTO series (environment, case_id, schema) VALUES (?, ?, ?)",
              environment, case_row, schema));
  DM_ASSIGN_OR_RETURN(
      const std::optional<std::int64_t> id,
      db_.OneInt("SELECT id FROM series WHERE environment = ? AND case_id = ? AND schema = ?",
                 environment, case_row, schema));
  return schemas[schema] = id.value_or(0);
}

StatusOr<AddOutcome> RowWriter::Add(const ParsedRecord& parsed) {
  const std::string kind(KindOf(parsed.record));
  {
    DM_ASSIGN_OR_RETURN(SqliteRows rows,
                        db_.Query("SELECT sha256 FROM records WHERE uid = ?", parsed.uid));
    if (rows.Next()) {
      if (rows.Text(0) == parsed.sha256) return AddOutcome::kKnown;
      return FailedPreconditionError(fmt::format(
          "{}: id {}: expected the record that is there (SHA-256 {}), found another one "
          "({})",
          db_.path(), parsed.uid, rows.Text(0), parsed.sha256));
    }
    DM_RETURN_IF_ERROR(rows.status());
  }
  if (kind == "run") {
    DM_ASSIGN_OR_RETURN(const std::optional<std::int64_t> replaced,
                        db_.OneInt("SELECT count(*) FROM replaced_runs WHERE uid = ?", parsed.uid));
    if (replaced.value_or(0) > 0) return AddOutcome::kReplaced;
  }
  const std::int64_t time = std::visit([](const auto& any) { return any.time; }, parsed.record);
  DM_RETURN_IF_ERROR(db_.Run("INSERT INTO records (uid, kind, time, sha256) VALUES (?, ?, ?, ?)",
                             parsed.uid, kind, time, parsed.sha256));
  const std::int64_t record = db_.LastRowId();
  DM_RETURN_IF_ERROR(std::visit(
      [&](const auto& any) { return WriteRows(db_, names_, record, any); }, parsed.record));
  return AddOutcome::kAdded;
}

}  // namespace draftmark
