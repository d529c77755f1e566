// The tests of a JUnit report that did not pass, as `tools/bundle/run` and GoogleTest write them.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<TestResult> tests, ReadJunit(text, "junit.xml"));
//
// A <testcase> with a <failure>, <error> or <skipped> in it, each once: of several the first. Also
// result="skipped" of GoogleTest. Names given twice get " #2" and so on behind them. DATA_LOSS,
// naming file and line: not well-formed, or no <testsuites>; entities are not expanded beyond
// expat's limits. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_JUNIT_READER_H_
#define DRAFTMARK_SRC_PERF_HISTORY_JUNIT_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/perf/history/record.h"

namespace draftmark {

StatusOr<std::vector<TestResult>> ReadJunit(std::string_view text, const std::string& source);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_JUNIT_READER_H_
