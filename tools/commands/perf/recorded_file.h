// The file of recorded counts (src/perf/recorded_counts.h): which one, and what is in it.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_RECORDED_FILE_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_RECORDED_FILE_H_

#include <string>

#include "src/base/status.h"
#include "src/perf/recorded_counts.h"

namespace draftmark {

inline constexpr char kRecordedCounts[] = "benchmarks/recorded/counts.json";

// `given`, or where that is empty `relative`, a file or folder of this checkout. NOT_FOUND outside
// of one.
StatusOr<std::string> FileOfCheckout(const std::string& given, const std::string& relative);

// NOT_FOUND: there is no such file. Any other code: it cannot be used.
StatusOr<RecordedCounts> ReadRecordedCounts(const std::string& path);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_RECORDED_FILE_H_
