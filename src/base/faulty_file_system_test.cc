#include "src/base/faulty_file_system.h"

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two appends, then a commit.
Status WriteTwoParts(const std::string& path, FileSystem& file_system) {
  DM_ASSIGN_OR_RETURN(const auto file, file_system.CreateAtomic(path));
  const std::string part = "new half, ";
  DM_RETURN_IF_ERROR(file->Append(std::as_bytes(std::span(part))));
  DM_RETURN_IF_ERROR(file->Append(std::as_bytes(std::span(part))));
  return file->Commit();
}

TEST(FaultyFileSystemTest, WithoutFaultItIsTheOneBelow) {
  const TestFolder folder;
  FaultyFileSystem faulty({});
  EXPECT_THAT(WriteTwoParts(folder.Path("f"), faulty), IsOk());
  EXPECT_EQ(faulty.appends(), 2);
  EXPECT_EQ(ReadTextFile(folder.Path("f"), faulty).value(), "new half, new half, ");
  EXPECT_TRUE(faulty.IsFile(folder.Path("f")));
  EXPECT_TRUE(faulty.IsDirectory(folder.path()));
  EXPECT_THAT(faulty.List(folder.path()).value(), ElementsAre("f"));
}

TEST(FaultyFileSystemTest, EveryFaultLeavesTheOldFileAndNothingElse) {
  const struct {
    const char* name;
    PlantedFault fault;
    StatusCode code;
  } kCases[] = {
      {"first append", {.fail_append = 0}, StatusCode::kResourceExhausted},
      {"second append", {.fail_append = 1}, StatusCode::kResourceExhausted},
      {"first append, half", {.short_append = 0}, StatusCode::kResourceExhausted},
      {"second append, half", {.short_append = 1}, StatusCode::kResourceExhausted},
      {"commit", {.fail_commit = true}, StatusCode::kResourceExhausted},
      {"read-only", {.read_only = true}, StatusCode::kUnavailable},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const TestFolder folder;
    const std::string path = folder.Path("f");
    ASSERT_THAT(WriteTextFile(path, "old"), IsOk());
    FaultyFileSystem faulty(c.fault);
    EXPECT_THAT(WriteTwoParts(path, faulty), StatusIs(c.code, HasSubstr(path)));
    EXPECT_EQ(ReadTextFile(path).value(), "old");
    EXPECT_THAT(RealFileSystem().List(folder.path()).value(), ElementsAre("f"));
  }
}

TEST(FaultyFileSystemTest, ACallerThatIgnoresTheErrorCannotCommit) {
  const TestFolder folder;
  FaultyFileSystem faulty({.fail_append = 0});
  DM_ASSERT_OK_AND_ASSIGN(const auto file, faulty.CreateAtomic(folder.Path("f")));
  const Status lost = file->Append({});
  EXPECT_THAT(lost, StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_THAT(file->Commit(), StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_FALSE(faulty.IsFile(folder.Path("f")));
}

TEST(FaultyFileSystemTest, Map) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "old"), IsOk());
  FaultyFileSystem faulty({.fail_map = true});
  EXPECT_THAT(ReadTextFile(folder.Path("f"), faulty), StatusIs(StatusCode::kUnavailable, _));
}

}  // namespace
}  // namespace draftmark
