// Is the golden set what its manifest says, and what this program computes?
// Reads only; thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_CHECK_GOLDEN_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_CHECK_GOLDEN_H_

#include <functional>
#include <string>
#include <string_view>

#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

// One file's outcome: an empty problem is a pass.
struct FileOutcome {
  std::string path;
  std::string detail;   // "10 cases, regenerated", "unchanged"
  std::string problem;  // one or more lines
};
using OnFile = std::function<void(const FileOutcome& outcome)>;

// Every listed file: its size and hash. Every generated file: computed again in memory and compared
// byte for byte. Every other file of the folder: an error, since nothing says where it comes from.
// `only` is a pattern of paths or cases (golden_set.h). Errors are a manifest or a catalogue that
// cannot be read, and a pattern that matches nothing.
Status CheckGolden(const std::string& golden, std::string_view only, const OnFile& on_file,
                   FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_CHECK_GOLDEN_H_
