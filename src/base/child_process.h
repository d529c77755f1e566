// Runs another program and waits for it, with a limit on its time.
//
//   DM_ASSIGN_OR_RETURN(const ChildResult child, RunChild({"python3", "x.py"}, {.seconds = 60}));
//   if (child.exit_code != 0) ... LastLine(child.output)
//
// The program is found by PATH, has this one's environment and no input, and is killed with all of
// its process group when its time is up; when this program dies, so does it. Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_CHILD_PROCESS_H_
#define DRAFTMARK_SRC_BASE_CHILD_PROCESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

struct ChildOptions {
  double seconds = 0;          // after which it is killed
  std::string directory = {};  // where it runs; empty: here
};

struct ChildResult {
  int exit_code = 0;       // 128 + N if signal N ended it
  bool timed_out = false;  // and was killed for it
  std::string output;      // standard output and error together; the last 64 KiB
};

// `arguments` begin with the program. NOT_FOUND if there is no such program or folder, UNAVAILABLE
// if it cannot be started; RESOURCE_EXHAUSTED if there is no place for its output or for another
// process; INTERNAL if this program ignores SIGCHLD, so that nobody learns how it ended.
StatusOr<ChildResult> RunChild(const std::vector<std::string>& arguments,
                               const ChildOptions& options);

// The last line with text, printable ASCII alone and no longer than a sentence.
std::string LastLine(std::string_view output);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_CHILD_PROCESS_H_
