// Reports of `draftmark verify --format json` and of `draftmark bench roofline --out` as runs of
// the history. Neither is sorted out by the other: each says FAILED_PRECONDITION of what is not its
// own.
//
//   DM_ASSIGN_OR_RETURN(const RunRecord run,
//                       ImportVerify(text, "report.json", {.commit = "b8a6"}));
//
// verify: one conformance result per operation and draft case; its used share of the tolerance is
// that of the worst stage of a draft (relative L2 error over bound). Groups of checks (sizes,
// scratch, configs) are suites, and errors of the run a suite with a problem.
//
// roofline: its works and layers are cases "roofline/ID", since they are measured otherwise than
// the same draft by draft_benchmark, and once more with "/path=simple" on the simple path.
//
// Errors name file and field. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_IMPORT_VERIFY_H_
#define DRAFTMARK_SRC_PERF_HISTORY_IMPORT_VERIFY_H_

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/perf/history/import_facts.h"
#include "src/perf/history/record.h"

namespace draftmark {

StatusOr<RunRecord> ImportVerify(std::string_view text, const std::string& source,
                                 const ImportFacts& facts);
StatusOr<RunRecord> ImportRoofline(std::string_view text, const std::string& source,
                                   const ImportFacts& facts);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_IMPORT_VERIFY_H_
