// TestFolder: an empty folder for one test, removed with everything in it at the end.
//
//   const TestFolder folder;
//   ASSERT_THAT(WriteTextFile(folder.Path("a.txt"), "text"), IsOk());
//
// Below TEST_TMPDIR where Bazel gives one. Ends the process if the folder cannot be made.
#ifndef DRAFTMARK_SRC_BASE_TEST_FOLDER_H_
#define DRAFTMARK_SRC_BASE_TEST_FOLDER_H_

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "src/base/check.h"

namespace draftmark {

class TestFolder {
 public:
  explicit TestFolder(const char* parent = std::getenv("TEST_TMPDIR"))
      : path_(std::string(parent ? parent : "/tmp") + "/draftmark-XXXXXX") {
    DM_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_TEST_FOLDER_H_
