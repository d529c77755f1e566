// Exact counts of cases (bytes of memory by field, allocations, launches): what they were when
// someone last looked, in a file of the project, and what they are now. No statistics: any increase
// is a finding.
//
//   DM_ASSIGN_OR_RETURN(RecordedCounts recorded, ParseRecordedCounts(text, path));
//   for (const CountFinding& finding : CompareCounts(recorded, found)) out << finding.ToString();
//   AcceptCounts(found, "scratch/dflash_v2/*", {.date = "2026-11-30", .reason = why}, recorded);
//   WriteTextFile(path, PrintRecordedCounts(recorded));
//
// A case is measured on an architecture, or the same on all (empty). A count that is 0 is not
// written, and what is not recorded is 0, so that a field that appears is an increase over 0. A
// recorded field that is not counted any more is missing: nobody knows that it is 0.
//
// The file: {"schema_version": 1, "cases": [{"architecture", "case", "counts": {NAME: N}}, ...],
// "accepted": [{"date", "architecture", "case", "field", "old", "new", "reason"}, ...]}, one line
// for each element, cases and names in ascending order, so that a change of one count is a change
// of one line. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_RECORDED_COUNTS_H_
#define DRAFTMARK_SRC_PERF_RECORDED_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

using Counts = std::map<std::string, std::uint64_t>;      // by field
using CountedCase = std::pair<std::string, std::string>;  // architecture, case id
using CountedCases = std::map<CountedCase, Counts>;

struct AcceptedCount {
  std::string date = {};  // "2026-11-30"
  std::string architecture = {};
  std::string case_id = {};
  std::string field = {};
  std::uint64_t old_value = 0;
  std::uint64_t new_value = 0;
  std::string reason = {};
};

struct RecordedCounts {
  CountedCases cases = {};
  std::vector<AcceptedCount> accepted = {};  // oldest first
};

// DATA_LOSS or INVALID_ARGUMENT, naming file and field.
StatusOr<RecordedCounts> ParseRecordedCounts(std::string_view text, const std::string& source);
std::string PrintRecordedCounts(const RecordedCounts& recorded);

enum class CountFindingKind {
  kLarger,   // fails
  kGone,     // a recorded case that is not counted any more; fails
  kNew,      // a case without a recorded value: no baseline
  kSmaller,  // fails nothing, but the record should follow
  kMissing,  // a recorded count that its case does not have any more; fails, as kGone does
};

struct CountFinding {
  CountFindingKind kind = CountFindingKind::kLarger;
  CountedCase counted = {};
  std::string field = {};  // of larger, smaller and missing
  std::uint64_t expected = 0;
  std::uint64_t found = 0;

  // "LARGER scratch/...: logits: expected 1024 as recorded, found 1025 (+1)".
  std::string ToString() const;
};

// In the order of cases and fields. A recorded case is gone if it is not in `found` although its
// architecture is among `architectures`, those that were counted.
std::vector<CountFinding> CompareCounts(const RecordedCounts& recorded, const CountedCases& found,
                                        const std::vector<std::string>& architectures);

inline constexpr std::string_view kWholeCase = "case";

struct Acceptance {
  std::string date = {};
  std::string reason = {};
};

// Records the counts of the cases whose id `pattern` (src/base/wildcard.h) takes, as CompareCounts
// finds them different, and returns what changed. Cases that are gone are dropped; one that comes
// or goes is a change of the field kWholeCase from 0 to 1 or back. The first record of all is not
// kept in `accepted`: it changes nothing.
std::vector<AcceptedCount> AcceptCounts(const CountedCases& found,
                                        const std::vector<std::string>& architectures,
                                        std::string_view pattern, const Acceptance& acceptance,
                                        RecordedCounts& recorded);

// The counters of a report of Google Benchmark that are counts (benchmark_counters.h, and
// memory_...), by the case id that is each benchmark's label, or its name where it has none. The
// architecture is the "sm_NN" of the context's "gpu", empty without one. The largest of a case's
// repetitions. Errors: no report, a counter that is no whole number.
StatusOr<CountedCases> CountsOfReport(std::string_view text, const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_RECORDED_COUNTS_H_
