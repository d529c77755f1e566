// The summaries in conformance/results/ and benchmarks/results/ as runs of the history, so that
// what was published of a GPU is the beginning of its trends.
//
//   DM_ASSIGN_OR_RETURN(const RunRecord run, ImportPublished(text, "h200_drafts.json", {}));
//
// Taken are, where they are there: drafts (a list with ids, or by id) with median_ms or graph_ms,
// memory and numbers; benchmark.rows of operations; conformance.operations as one result
// "op/NAME/all/bf16" each with the worst used share; conformance.programs as suites. Commit and
// date are the summary's, or those of its conformance, or `facts`. Samples are not told: each time
// counts as one. FAILED_PRECONDITION: none of these is there. Errors name file and field. Pure.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_IMPORT_PUBLISHED_H_
#define DRAFTMARK_SRC_PERF_HISTORY_IMPORT_PUBLISHED_H_

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/perf/history/import_facts.h"
#include "src/perf/history/record.h"

namespace draftmark {

StatusOr<RunRecord> ImportPublished(std::string_view text, const std::string& source,
                                    const ImportFacts& facts);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_IMPORT_PUBLISHED_H_
