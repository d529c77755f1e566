// What an import is told beside the file, and what it finds out of texts that name a machine.
//
//   ImportFacts facts{.commit = "b8a6378"};
//   EnvironmentOfDevice("NVIDIA H200 (sm_90, 132 SMs, ..., driver CUDA 13.0, runtime CUDA 13.0)");
//     // architecture sm_90, gpu NVIDIA H200, cuda 13.0
//
// Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_IMPORT_FACTS_H_
#define DRAFTMARK_SRC_PERF_HISTORY_IMPORT_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/perf/history/record.h"

namespace draftmark {

// What is given here goes before what the file says.
struct ImportFacts {
  std::optional<std::int64_t> time = std::nullopt;
  std::string night = {};
  std::string commit = {};
  Environment environment = {};  // fields that are not empty
  std::string session = {};
  std::optional<std::int64_t> number = std::nullopt;
};

inline constexpr char kDefaultClocks[] = "default";  // nobody said that they were locked

// By DeviceInfo::Describe(), as reports name a GPU. Of another text only `gpu`.
Environment EnvironmentOfDevice(std::string_view device);
// The clocks policy of a history's key, by what a report's context says: empty, so that it becomes
// kDefaultClocks, for clocks that nobody is known to have locked.
std::string ClocksPolicyOf(std::string_view told);
// "sm_90" of "9.0", and of what is that already.
std::string ArchitectureOf(std::string_view compute_capability);

// Fills what the run has not found itself, and lets the facts win. INVALID_ARGUMENT, naming the
// option that helps, if the commit or the time stays unknown.
Status ApplyFacts(const ImportFacts& facts, const std::string& source, RunRecord& run);

// For what becomes a text of a record: bytes that are not UTF-8, and control characters, become
// spaces or U+FFFD; what is too long is cut.
std::string CleanText(std::string_view text);
// Without folders.
std::string FileNameOf(std::string_view path);
std::string HashOf(std::string_view bytes);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_IMPORT_FACTS_H_
