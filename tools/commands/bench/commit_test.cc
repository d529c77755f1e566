#include "tools/commands/bench/commit.h"

#include <filesystem>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

TEST(CommitTest, IsOneWordOfTheStatus) {
  EXPECT_EQ(CommitOfStatus("STABLE_GIT_COMMIT 0123abc-modified\n"), "0123abc-modified");
  EXPECT_EQ(CommitOfStatus("BUILD_TIME 1\nSTABLE_GIT_COMMIT 0123abc"), "0123abc");
  EXPECT_EQ(CommitOfStatus(""), "unknown");
  EXPECT_EQ(CommitOfStatus("fatal: not a git repository\n"), "unknown");
}

// This program lies in no bundle.
TEST(CommitTest, IsAskedOfTheCheckout) {
  const TestFolder folder;
  ASSERT_THAT(RealFileSystem().CreateDirectories(folder.Path("tools")), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("tools/workspace_status"),
                            "[ -f tools/workspace_status ] && echo STABLE_GIT_COMMIT 77\n"),
              IsOk());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder.Path("below"));
  for (const char* const place : {".", "below"}) {
    std::filesystem::current_path(folder.Path(place));
    EXPECT_EQ(FindCommit(), "77") << place;
    std::filesystem::current_path(before);
  }
}

}  // namespace
}  // namespace draftmark
