// Exact counts of history_reader.h.
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "src/perf/history/history_reader.h"

namespace draftmark {
namespace {

struct Owner {
  std::int64_t time = 0;
  std::string run, night, commit;
};

// Runs, and nights that stand for dropped ones.
StatusOr<std::unordered_map<std::int64_t, Owner>> LoadOwners(Sqlite& db, const std::string& since) {
  std::unordered_map<std::int64_t, Owner> owners;
  DM_ASSIGN_OR_RETURN(SqliteRows rows,
                      db.Query("SELECT r.id, r.time, r.uid, u.night, u.commit_id FROM records r "
                               "JOIN (SELECT record, night, commit_id FROM runs UNION ALL "
                               "SELECT record, night, commit_id FROM nights) u ON u.record = r.id "
                               "WHERE u.night >= ?",
                               since));
  while (rows.Next()) {
    owners[rows.Int(0)] = {rows.Int(1), rows.Text(2), rows.Text(3), rows.Text(4)};
  }
  DM_RETURN_IF_ERROR(rows.status());
  return owners;
}

struct Newest {
  const Owner* owner = nullptr;
  std::int64_t value = 0;
};

// A plain scan: with joins and a GROUP BY it would take seconds.
Status FindNewest(Sqlite& db, std::string_view table,
                  const std::unordered_map<std::int64_t, Owner>& owners,
                  std::map<std::pair<SeriesId, std::int64_t>, Newest>& newest) {
  DM_ASSIGN_OR_RETURN(SqliteRows rows,
                      db.Query(std::string("SELECT series, field, record, value FROM ") +
                               std::string(table) + " ORDER BY series, field"));
  std::pair<SeriesId, std::int64_t> key{0, 0};
  Newest* current = nullptr;
  while (rows.Next()) {
    const auto owner = owners.find(rows.Int(2));
    if (owner == owners.end()) continue;
    if (const std::pair at{rows.Int(0), rows.Int(1)}; current == nullptr || at != key) {
      key = at;
      current = &newest[key];
    }
    const Owner& found = owner->second;
    if (current->owner == nullptr ||
        std::tie(found.time, found.run) > std::tie(current->owner->time, current->owner->run)) {
      *current = {&found, rows.Int(3)};
    }
  }
  return rows.status();
}

StatusOr<std::unordered_map<std::int64_t, std::string>> FieldNames(Sqlite& db) {
  std::unordered_map<std::int64_t, std::string> names;
  DM_ASSIGN_OR_RETURN(SqliteRows rows, db.Query("SELECT id, text FROM texts"));
  while (rows.Next()) names[rows.Int(0)] = rows.Text(1);
  DM_RETURN_IF_ERROR(rows.status());
  return names;
}

}  // namespace

StatusOr<std::vector<CountRow>> HistoryReader::NewestCounts(const SeriesFilter& filter) {
  DM_ASSIGN_OR_RETURN(const auto owners, LoadOwners(*db_, filter.since));
  std::map<std::pair<SeriesId, std::int64_t>, Newest> newest;
  DM_RETURN_IF_ERROR(FindNewest(*db_, "counts", owners, newest));
  DM_RETURN_IF_ERROR(FindNewest(*db_, "night_counts", owners, newest));
  DM_ASSIGN_OR_RETURN(const auto names, FieldNames(*db_));
  DM_ASSIGN_OR_RETURN(const std::vector<SeriesRow> all, Series(filter));
  std::vector<CountRow> found;
  for (const SeriesRow& series : all) {
    std::map<std::string, const Newest*> by_name;
    for (auto at = newest.lower_bound({series.id, 0});
         at != newest.end() && at->first.first == series.id; ++at) {
      const auto name = names.find(at->first.second);
      if (name != names.end()) by_name[name->second] = &at->second;
    }
    for (const auto& [name, value] : by_name) {
      const Owner& owner = *value->owner;
      found.push_back(
          {series, name, value->value, owner.run, owner.night, owner.commit, owner.time});
    }
  }
  return found;
}

StatusOr<std::vector<CountChange>> HistoryReader::CountChanges(SeriesId series,
                                                               const std::string& field) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query(
          "SELECT u.night, u.commit_id, r.uid, n.value, r.time FROM counts n "
          "JOIN runs u ON u.record = n.record JOIN records r ON r.id = n.record "
          "WHERE n.series = ?1 AND n.field = (SELECT id FROM texts WHERE text = ?2) "
          "UNION ALL SELECT u.night, u.commit_id, r.uid, n.value, r.time FROM night_counts n "
          "JOIN nights u ON u.record = n.record JOIN records r ON r.id = n.record "
          "WHERE n.series = ?1 AND n.field = (SELECT id FROM texts WHERE text = ?2) "
          "ORDER BY 1, 5, 3",
          series, field));
  std::vector<CountChange> found;
  while (rows.Next()) {
    if (!found.empty() && found.back().value == rows.Int(3)) continue;
    found.push_back({rows.Text(0), rows.Text(1), rows.Text(2), rows.Int(3)});
  }
  DM_RETURN_IF_ERROR(rows.status());
  return found;
}

}  // namespace draftmark
