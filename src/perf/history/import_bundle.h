// Files and folders of results as runs of the history.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, ImportPath("results", {}));
//
// A path is
//   a folder that `tools/bundle/run` wrote (it has summary.json): each report in bench/ is a run,
//     and so is the conformance of verify/report.json with junit.xml; GPU, driver, CUDA, commit and
//     date are those of the summary;
//   any other folder: every *.json in it, each a run (one process), and the folders in it
//     (result_folders.h);
//   a file: a report of Google Benchmark, of draftmark verify or of draftmark bench roofline, or
//     published results (import_published.h).
//
// What `facts` say goes before what the files say. Errors name the file; the first one ends it, so
// that nothing is imported by half. A program of a bundle that left no report is in the summary's
// suites with its problem.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_IMPORT_BUNDLE_H_
#define DRAFTMARK_SRC_PERF_HISTORY_IMPORT_BUNDLE_H_

#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/perf/history/import_facts.h"
#include "src/perf/history/record.h"

namespace draftmark {

StatusOr<std::vector<RunRecord>> ImportPath(const std::string& path, const ImportFacts& facts,
                                            FileSystem& files = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_IMPORT_BUNDLE_H_
