// A record as rows of the database, and back.
//
//   RowWriter writer(db);              // inside a transaction, and only as long as it lasts
//   DM_ASSIGN_OR_RETURN(const AddOutcome outcome, writer.Add(parsed));
//   DM_ASSIGN_OR_RETURN(const HistoryRecord record, ReadRecord(db, uid));
//
// What Add has written ReadRecord returns unchanged, so that the database and the JSONL files hold
// the same. A NightRecord takes the place of its runs: they are deleted, and not added again.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RECORD_ROWS_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RECORD_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/base/status.h"
#include "src/perf/history/record.h"
#include "src/perf/history/record_jsonl.h"
#include "src/perf/history/sqlite.h"

namespace draftmark {

enum class AddOutcome {
  kAdded,
  kKnown,     // it was there
  kReplaced,  // a run that retention has replaced by its night
  kDropped,   // someone took it out (tombstone.h); the rows know nothing of it, History does
};

// Names to row ids, made where they are not there. Remembers ids, so it must not outlive its
// transaction: a rollback takes them back.
class RowNames {
 public:
  explicit RowNames(Sqlite& db) : db_(db) {}
  StatusOr<std::int64_t> Text(const std::string& text);
  StatusOr<std::int64_t> Case(const std::string& name);
  StatusOr<std::int64_t> EnvironmentId(const Environment& environment);
  StatusOr<std::int64_t> Series(std::int64_t environment, const std::string& case_id,
                                std::int64_t schema);

 private:
  Sqlite& db_;
  std::unordered_map<std::string, std::int64_t> texts_;
  std::unordered_map<std::string, std::int64_t> cases_;
  std::map<Environment, std::int64_t> environments_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int64_t, std::int64_t>> series_;
};

class RowWriter {
 public:
  explicit RowWriter(Sqlite& db) : db_(db), names_(db) {}

  // FAILED_PRECONDITION: the id is there with another content.
  StatusOr<AddOutcome> Add(const ParsedRecord& parsed);

 private:
  Sqlite& db_;
  RowNames names_;
};

// NOT_FOUND: no such id.
StatusOr<HistoryRecord> ReadRecord(Sqlite& db, const std::string& uid);

// "op/rms_norm" of "op/rms_norm/rows=1,h=8/bf16", "draft" of "draft/...": a row of the conformance
// matrix. The SQL of schema version 2 does the same.
std::string OperationOf(const std::string& case_id);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RECORD_ROWS_H_
