// A record as a text of JSON lines, which is what is kept: the database can be made again from it.
//
//   DM_ASSIGN_OR_RETURN(const RecordText written, RecordToJsonl(record));
//   written.uid;     // "3f0c55a1b2d4e697": the file is written.uid + ".jsonl"
//   DM_ASSIGN_OR_RETURN(const ParsedRecord read, ParseRecordJsonl(text, "runs/3f0c.jsonl"));
//
// Format, version 1 (golden: testdata/*.jsonl):
//
//   {"draftmark_history":1,"kind":"run","time":"2026-11-30T02:24:17Z","environment":{...},...}
//   {"point":{"case":"op/rms_norm/rows=16,h=4096/bf16","seconds":1.88e-06,...}}     any number
//   {"conformance":{...}}
//   {"end":{"lines":3,"sha256":"..."}}
//
// The first line names the kind and its fields, then comes one line for each item in canonical
// order; record_fields.h has all keys. A field with its default (an empty text, 0, false, absent)
// is left out; `schema` by default is 1, `valid` true and `metric` "time". The last line counts the
// lines before it and has the SHA-256 of their bytes, so that a file that was cut or changed is
// noticed. Numbers are printed so that they are read back bit for bit: equal records are equal
// bytes.
//
// A record's id (uid) is the first 16 hexadecimal digits of the SHA-256 of the file that it was
// imported from, or else of its own lines: importing the same again, anywhere, gives the same id.
//
// Errors name file, line and key. DATA_LOSS: cut, changed, or no JSON; FAILED_PRECONDITION: a newer
// format; INVALID_ARGUMENT: a key that this version does not know (nothing is dropped silently), a
// wrong type, a value that CheckRecord refuses. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_RECORD_JSONL_H_
#define DRAFTMARK_SRC_PERF_HISTORY_RECORD_JSONL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/perf/history/record.h"

namespace draftmark {

inline constexpr std::int64_t kHistoryFormatVersion = 1;

struct RecordText {
  std::string uid;
  std::string sha256;  // of all lines but the last
  std::string text;
};

// Makes the record canonical and checks it.
StatusOr<RecordText> RecordToJsonl(HistoryRecord record);

struct ParsedRecord {
  HistoryRecord record;  // canonical and checked
  std::string uid;
  std::string sha256;
};

StatusOr<ParsedRecord> ParseRecordJsonl(std::string_view text, const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_RECORD_JSONL_H_
