// ReadRecord of record_rows.h.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/check.h"
#include "src/base/printable.h"
#include "src/perf/history/record_fields.h"
#include "src/perf/history/record_rows.h"
#include "src/perf/history/row_tables.h"

namespace draftmark {
namespace {

// Takes the columns of a row, one after the other, into the fields of a value.
class ColumnReader {
 public:
  explicit ColumnReader(const SqliteRows& rows) : rows_(rows) {}

  void operator()(const char*, std::string& text) { text = rows_.Text(column_++); }
  void operator()(const char*, std::int64_t& value) { value = rows_.Int(column_++); }
  void operator()(const char*, double& value) { value = rows_.Real(column_++); }
  void operator()(const char*, bool& value) { value = rows_.Int(column_++) != 0; }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (rows_.IsNull(column_)) {
      ++column_;
      return;
    }
    T inner{};
    (*this)(key, inner);
    value = inner;
  }
  void operator()(const char*, Environment& environment) { Fields(*this, environment); }
  // These have tables of their own.
  template <typename T>
  void operator()(const char*, std::vector<T>&) {}

 private:
  const SqliteRows& rows_;
  int column_ = 0;
};

class ItemsReader {
 public:
  ItemsReader(Sqlite& db, std::int64_t record) : db_(db), record_(record) {}
  const Status& status() const { return status_; }

  template <typename T>
  void List(const char*, std::vector<T>& items) {
    if (status_.ok()) status_ = Read(items);
  }

 private:
  template <typename T>
  Status Read(std::vector<T>& items) {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, db_.Query(RowTable<T>::kSelect, record_));
    while (rows.Next()) {
      ColumnReader columns(rows);
      Fields(columns, items.emplace_back());
    }
    return rows.status();
  }

  Sqlite& db_;
  const std::int64_t record_;
  Status status_;
};

// Names and values of one table, to the items of their series. `table` and `name` are no input.
template <typename Item, typename V>
Status ReadNamed(Sqlite& db, std::int64_t record, std::string_view table, std::string_view name,
                 std::vector<Item>& items, std::vector<std::pair<std::string, V>> Item::*member) {
  std::map<std::pair<std::string, std::int64_t>, Item*> by_key;
  for (Item& item : items) by_key[{item.case_id, item.schema}] = &item;
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db.Query(fmt::format("SELECT c.name, s.schema, t.text, x.value FROM {0} x "
                           "JOIN series s ON s.id = x.series JOIN cases c ON c.id = s.case_id "
                           "JOIN texts t ON t.id = x.{1} WHERE x.record = ? "
                           "ORDER BY c.name, s.schema, t.text",
                           table, name),
               record));
  while (rows.Next()) {
    const auto at = by_key.find({rows.Text(0), rows.Int(1)});
    if (at == by_key.end()) {
      return DamagedDatabaseError(db.path(),
                                  fmt::format("{} without a point: {}", table, rows.Text(0)));
    }
    if constexpr (std::is_same_v<V, double>) {
      (at->second->*member).emplace_back(rows.Text(2), rows.Real(3));
    } else {
      (at->second->*member).emplace_back(rows.Text(2), rows.Int(3));
    }
  }
  return rows.status();
}

Status ReadContext(Sqlite& db, std::int64_t record, NamedTexts& context) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db.Query("SELECT name, value FROM context WHERE record = ? ORDER BY name", record));
  while (rows.Next()) context.emplace_back(rows.Text(0), rows.Text(1));
  return rows.status();
}

Status ReadTexts(Sqlite& db, std::string_view sql, std::int64_t record,
                 std::vector<std::string>& texts) {
  DM_ASSIGN_OR_RETURN(SqliteRows rows, db.Query(sql, record));
  while (rows.Next()) texts.push_back(rows.Text(0));
  return rows.status();
}

Status ReadRest(Sqlite& db, std::int64_t record, RunRecord& run) {
  DM_RETURN_IF_ERROR(ReadNamed(db, record, "counts", "field", run.points, &Point::counts));
  DM_RETURN_IF_ERROR(ReadNamed(db, record, "numbers", "name", run.points, &Point::numbers));
  return ReadContext(db, record, run.context);
}
Status ReadRest(Sqlite& db, std::int64_t record, GateRecord& gate) {
  constexpr std::string_view kSelect =
      "SELECT uid FROM gate_runs WHERE record = ? AND side = '{}' ORDER BY uid";
  DM_RETURN_IF_ERROR(ReadTexts(db, fmt::format(kSelect, "base"), record, gate.base_runs));
  DM_RETURN_IF_ERROR(ReadTexts(db, fmt::format(kSelect, "new"), record, gate.next_runs));
  return ReadContext(db, record, gate.context);
}
Status ReadRest(Sqlite& db, std::int64_t record, AaRecord& aa) {
  return ReadContext(db, record, aa.context);
}
Status ReadRest(Sqlite&, std::int64_t, AcceptRecord&) { return OkStatus(); }
Status ReadRest(Sqlite&, std::int64_t, ReleaseRecord&) { return OkStatus(); }
Status ReadRest(Sqlite& db, std::int64_t record, NightRecord& night) {
  DM_RETURN_IF_ERROR(
      ReadNamed(db, record, "night_counts", "field", night.points, &NightPoint::counts));
  return ReadTexts(db, "SELECT uid FROM replaced_runs WHERE record = ? ORDER BY uid", record,
                   night.replaces);
}

template <typename T>
StatusOr<HistoryRecord> Read(Sqlite& db, std::int64_t record, const std::string& uid) {
  T any;
  {
    DM_ASSIGN_OR_RETURN(SqliteRows rows, db.Query(RowTable<T>::kSelect, record));
    if (!rows.Next()) {
      DM_RETURN_IF_ERROR(rows.status());
      return DamagedDatabaseError(db.path(), fmt::format("record {} has no rows", uid));
    }
    ColumnReader columns(rows);
    Fields(columns, any);
  }
  ItemsReader items(db, record);
  Items(items, any);
  DM_RETURN_IF_ERROR(items.status());
  DM_RETURN_IF_ERROR(ReadRest(db, record, any));
  return HistoryRecord(std::move(any));
}

}  // namespace

StatusOr<HistoryRecord> ReadRecord(Sqlite& db, const std::string& uid) {
  std::int64_t record = 0;
  std::string kind;
  {
    DM_ASSIGN_OR_RETURN(SqliteRows rows,
                        db.Query("SELECT id, kind FROM records WHERE uid = ?", uid));
    if (!rows.Next()) {
      DM_RETURN_IF_ERROR(rows.status());
      return NotFoundError(fmt::format("{}: no record has the id {}", db.path(), uid));
    }
    record = rows.Int(0);
    kind = rows.Text(1);
  }
  if (kind == "run") return Read<RunRecord>(db, record, uid);
  if (kind == "gate") return Read<GateRecord>(db, record, uid);
  if (kind == "aa") return Read<AaRecord>(db, record, uid);
  if (kind == "accept") return Read<AcceptRecord>(db, record, uid);
  if (kind == "release") return Read<ReleaseRecord>(db, record, uid);
  if (kind == "night") return Read<NightRecord>(db, record, uid);
  return DamagedDatabaseError(db.path(),
                              fmt::format("record {} is of kind \"{}\"", uid, Printable(kind)));
}

}  // namespace draftmark
