// Where the data of a test lies that is also started by hand, as those of the bundle are.
//
//   const std::string golden = TestData("golden");
//
// In the runfiles under `bazel test` and in the bundle's `run`; else where FindInCheckout looks.
// Ends the process with one sentence and exit code 2 where there is none: tests find their data
// before GoogleTest could report a failure.
#ifndef DRAFTMARK_SRC_BASE_TEST_DATA_H_
#define DRAFTMARK_SRC_BASE_TEST_DATA_H_

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>

#include "src/base/find_in_checkout.h"
#include "src/base/runfiles.h"

namespace draftmark {

// `relative` to the project's root; a file or a folder.
inline std::string TestData(const std::string& relative) {
  const auto exists = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  };
  if (std::string path = Runfiles(relative); exists(path)) return path;
  if (const std::optional<std::string> found = FindInCheckout(relative, exists)) {
    return std::filesystem::absolute(*found).lexically_normal().string();
  }
  std::cerr << program_invocation_short_name << ": no " << relative
            << " found: start this test inside a checkout, or where it lies in the bundle\n";
  std::exit(2);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_TEST_DATA_H_
