// Writes the golden set anew, if two independent computations agree, and says what moved.
// Two calls on one folder at a time would mix their files.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_REGENERATE_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_REGENERATE_H_

#include <string>
#include <string_view>

#include "conformance/golden/check_golden.h"
#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

struct RegenerateOptions {
  std::string golden;
  std::string only;    // a pattern of paths or cases; empty: everything
  std::string reason;  // recorded with every file that changes; must not be empty
};

struct RegenerateSummary {
  std::size_t unchanged = 0;
  std::size_t written = 0;  // new or changed files
  std::size_t entries = 0;  // files as they were whose manifest entry is new or changed
  std::size_t dropped = 0;  // entries whose file is gone
};

// All or nothing: every file is computed, and written to a temporary, before the first is replaced;
// the manifest comes last. `on_file` hears of each file that changes, with the tensors that moved.
// Errors: INVALID_ARGUMENT without a reason, NOT_FOUND for a pattern that matches nothing, INTERNAL
// if two computations disagree, those of the file system.
StatusOr<RegenerateSummary> RegenerateGolden(const RegenerateOptions& options,
                                             const OnFile& on_file,
                                             FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_REGENERATE_H_
