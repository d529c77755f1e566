// Where the golden data of this checkout lies.
#ifndef DRAFTMARK_TOOLS_COMMANDS_VERIFY_GOLDEN_DIRECTORY_H_
#define DRAFTMARK_TOOLS_COMMANDS_VERIFY_GOLDEN_DIRECTORY_H_

#include <string>

#include "src/base/status.h"

namespace draftmark {

// Looks for a folder `golden` with a `drafter` folder in it: in the workspace of a `bazel run` (or of
// tools/run), in the working directory and its parents, and in the program's runfiles. NOT_FOUND
// says so and names the option that helps.
StatusOr<std::string> FindGoldenDirectory();

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_VERIFY_GOLDEN_DIRECTORY_H_
