// A roofline's report as JSON, schema version 1:
//
//   {"schema_version": 1, "command", "passed", "failed": works and lines by their must, "gpu",
//    "driver", "cuda", "cublaslt", "commit", "date", "runs", "copy_bytes_per_second",
//    "theoretical_bytes_per_second": or null,
//    "works": [{"id", "outcome": PASS or FAIL, "must", "aim", "floor_bytes", "unique_bytes",
//      "second_read_bytes", "floor_ms", "path": "fast" or "simple", whose median `ratio` is of,
//      "fast": {"median_ms", "min_ms", "p90_ms", "queued_ms"} or null, "simple": the same,
//      "ratio", "must_met", "aim_met", "baseline": {"torch", "best", "best_ms",
//      "columns": {name: ms or null}} or null, "factor": or null, "error": or null}],
//    "linear": [{"id", "outcome", "n", "k", "m": rows, "bytes", "used_as", "class",
//      "must": or null, "aim", "path": of `us` and `share`; "simple" also where the fast path does
//      not take the rows, "us", "share", "simple_us", "simple_share", "must_met",
//      "aim_met", "error": or null}],
//    "linear_classes": [{"class", "must", "aim", "worst", "worst_id", "mean", "must_met",
//      "aim_met"}],
//    "baseline_notes": [text]}
//
// Numbers of what has an error are null. `passed`, `failed`, `id` and `outcome` are where
// tools/bundle/results.sh looks for them in the report of draftmark verify.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_JSON_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_JSON_H_

#include "src/base/json.h"
#include "tools/commands/bench/roofline_report.h"

namespace draftmark {

OrderedJson RooflineJson(const RooflineReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_JSON_H_
