#include "src/base/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MemoryFileSystem, HoldsWhatWasCommitted) {
  MemoryFileSystem files;
  ASSERT_THAT(WriteTextFile("a/b/one.txt", "first", files), IsOk());
  ASSERT_THAT(WriteTextFile("a/two.txt", "second", files), IsOk());
  EXPECT_EQ(ReadTextFile("a/b/one.txt", files).value(), "first");
  EXPECT_TRUE(files.IsFile("a/two.txt"));
  EXPECT_FALSE(files.IsFile("a/b"));
  EXPECT_TRUE(files.IsDirectory("a/b"));
  EXPECT_FALSE(files.IsDirectory("a/two.txt"));
  EXPECT_THAT(files.List("a").value(), ElementsAre("b", "two.txt"));
  EXPECT_THAT(files.Map("a/none"), StatusIs(StatusCode::kNotFound, HasSubstr("a/none")));
  EXPECT_THAT(files.List("b"), StatusIs(StatusCode::kNotFound, HasSubstr("b")));
}

TEST(MemoryFileSystem, NothingIsVisibleBeforeCommitAndOldBytesStay) {
  MemoryFileSystem files;
  ASSERT_THAT(WriteTextFile("f", "old", files), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const auto old, files.Map("f"));
  {
    DM_ASSERT_OK_AND_ASSIGN(const auto dropped, files.CreateAtomic("f"));
    ASSERT_THAT(dropped->Append({}), IsOk());
  }
  EXPECT_EQ(ReadTextFile("f", files).value(), "old");
  ASSERT_THAT(WriteTextFile("f", "newer", files), IsOk());
  EXPECT_EQ(old->bytes().size(), 3u);
  DM_ASSERT_OK_AND_ASSIGN(const auto twice, files.CreateAtomic("f"));
  ASSERT_THAT(twice->Commit(), IsOk());
  EXPECT_THAT(twice->Commit(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("f")));
  EXPECT_THAT(twice->Append({}), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("f")));
}

}  // namespace
}  // namespace draftmark
