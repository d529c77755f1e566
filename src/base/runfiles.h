// Where Bazel puts the data of a test, whichever version of Bazel runs it: the folder of the project is named after the
// workspace in Bazel 4, `_main` in Bazel 7, and there other repositories have names of Bazel's own, too.
//
//   const std::string cases = Runfiles("golden/drafter");
//   const std::string more = ExternalRunfiles("oracle_cases", "cases/drafter");
//
// Paths are not checked. Outside `bazel test` they lie nowhere ("/no-runfiles/..."); tests that people also start by hand use
// TestData (test_data.h). Reads the environment, and so is as thread-safe as getenv.
#ifndef DRAFTMARK_SRC_BASE_RUNFILES_H_
#define DRAFTMARK_SRC_BASE_RUNFILES_H_

#include <cstdlib>
#include <fstream>
#include <string>

namespace draftmark {

// Of the project itself.
inline std::string Runfiles(const std::string& relative) {
  const char* const root = std::getenv("TEST_SRCDIR");
  const char* const workspace = std::getenv("TEST_WORKSPACE");
  return std::string(root == nullptr ? "/no-runfiles" : root) + "/" +
         (workspace == nullptr ? "draftmark" : workspace) + "/" + relative;
}

// Of the repository that BUILD files call @`repository`. Bazel 7 says in the file _repo_mapping, as lines
// "who,apparent name,folder", what that is in its own words; Bazel 4 has no such file and calls it the same.
inline std::string ExternalRunfiles(const std::string& repository, const std::string& relative) {
  const char* const root = std::getenv("TEST_SRCDIR");
  const std::string folder = root == nullptr ? "/no-runfiles" : root;
  std::string name = repository;
  std::ifstream mapping(folder + "/_repo_mapping");
  for (std::string line; std::getline(mapping, line);) {
    const std::string prefix = "," + repository + ",";  // `who` is empty for the project itself
    if (line.starts_with(prefix)) name = line.substr(prefix.size());
  }
  return folder + "/" + name + "/" + relative;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_RUNFILES_H_
