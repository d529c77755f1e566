// Totals of suites of history_reader.h.
#include <map>
#include <utility>

#include "src/perf/history/history_reader.h"

namespace draftmark {
namespace {

// Names of the tests that failed, by run and suite. "program" stands for a whole program without
// results, whose total says so itself.
using FailedTests = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

StatusOr<FailedTests> ReadFailedTests(Sqlite& db) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db.Query("SELECT r.uid, t.suite, t.test FROM tests t JOIN records r ON r.id = t.record "
               "JOIN runs u ON u.record = t.record WHERE t.status IN ('failed', 'error') AND "
               "t.test <> 'program' AND u.program <> ?1 ORDER BY r.uid, t.suite, t.test",
               kBenchProgram));
  FailedTests failed;
  while (rows.Next()) failed[{rows.Text(0), rows.Text(1)}].push_back(rows.Text(2));
  DM_RETURN_IF_ERROR(rows.status());
  return failed;
}

}  // namespace

StatusOr<std::vector<SuiteRow>> HistoryReader::NewestSuites() {
  DM_ASSIGN_OR_RETURN(const FailedTests failed, ReadFailedTests(*db_));
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      db_->Query(
          "SELECT e.architecture, u.program, r.uid, u.commit_id, r.time, s.name, s.passed, "
          "s.failed, s.skipped, s.problem FROM (SELECT record, name, passed, failed, skipped, "
          "problem FROM suites UNION ALL SELECT record, suite, 0, count(*), 0, '' FROM tests t "
          "WHERE status IN ('failed', 'error') AND NOT EXISTS (SELECT 1 FROM suites x WHERE "
          "x.record = t.record AND x.name = t.suite) GROUP BY record, suite) s "
          "JOIN runs u ON u.record = s.record JOIN records r ON r.id = s.record "
          "JOIN environments e ON e.id = u.environment ORDER BY r.time, r.uid, s.name"));
  std::map<std::pair<std::string, std::string>, SuiteRow> newest;
  while (rows.Next()) {
    SuiteRow row{rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3), rows.Int(4), {}};
    row.result = {.name = rows.Text(5),
                  .passed = rows.Int(6),
                  .failed = rows.Int(7),
                  .skipped = rows.Int(8),
                  .problem = rows.Text(9)};
    row.failed = IsSuiteFailure(row.program, row.result);
    if (const auto tests = failed.find({row.run, row.result.name}); tests != failed.end()) {
      row.failed_tests = tests->second;
    }
    newest.insert_or_assign({row.result.name, row.architecture}, std::move(row));
  }
  DM_RETURN_IF_ERROR(rows.status());
  std::vector<SuiteRow> all;
  all.reserve(newest.size());
  for (auto& [key, row] : newest) all.push_back(std::move(row));
  return all;
}

}  // namespace draftmark
