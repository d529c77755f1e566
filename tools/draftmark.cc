// The `draftmark` program. See README.md, or `draftmark --help`.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tools/commands/run.h"

int main(int argc, char** argv) {
  // Under `bazel run` the working directory is Bazel's; relative paths mean the user's.
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    if (chdir(directory) != 0) {
      std::cerr << "draftmark: cannot enter " << directory << "\n";
      return 2;
    }
  }
  const int code = draftmark::RunDraftmark(std::vector<std::string>(argv + 1, argv + argc),
                                           std::cout, std::cerr, isatty(STDOUT_FILENO) != 0);
  // A full disk or a closed pipe must not look like success.
  if (!std::cout.flush()) {
    std::cerr << "draftmark: cannot write to standard output\n";
    return 2;
  }
  return code;
}
