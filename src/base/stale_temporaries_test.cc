#include "src/base/stale_temporaries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/stale_temporaries_testing.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

class StaleTemporariesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, int age = 2 * kStaleSeconds) {
    std::string path = folder_.Path(name);
    EXPECT_THAT(WriteTextFile(path, "half"), IsOk());
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(age));
    return path;
  }
  TestFolder folder_;
};

TEST_F(StaleTemporariesTest, OnlyThoseOfDeadWriters) {
  const pid_t dead = DeadProcess();
  const std::string stale = Write(fmt::format(".draftmark-{}-0-5eab.tmp", dead));
  const std::string fresh = Write(fmt::format(".draftmark-{}-1-5eab.tmp", dead), 1);
  const std::string alive = Write(fmt::format(".draftmark-{}-0-5eab.tmp", ::getpid()));
  const std::string init = Write(".draftmark-1-0-5eab.tmp");
  // Names that are like it, and files of others.
  for (const char* const form :
       {".draftmark-{}.tmp", ".draftmark-{}-0.tmp", ".draftmark-{}-0-xyz.tmp",
        ".draftmark-{}-0-5eab.tmp.tmp", "draftmark-{}-0-5eab.tmp", ".draftmark-{}-0-5eab.part"}) {
    Write(fmt::format(fmt::runtime(form), dead));
  }
  Write(".draftmark-0-0-5eab.tmp");
  Write(".draftmark--1-0-5eab.tmp");
  Write(".draftmark-99999999999-0-5eab.tmp");
  Write("index.html");
  std::filesystem::create_directory(folder_.Path(fmt::format(".draftmark-{}-2-5e.tmp", dead)));
  const std::size_t before = RealFileSystem().List(folder_.Path("")).value().size();
  EXPECT_EQ(RemoveStaleTemporaries(folder_.Path("")), 1u);
  EXPECT_FALSE(RealFileSystem().IsFile(stale));
  for (const std::string& kept : {fresh, alive, init}) {
    EXPECT_TRUE(RealFileSystem().IsFile(kept)) << kept;
  }
  EXPECT_EQ(RealFileSystem().List(folder_.Path("")).value().size(), before - 1);
  EXPECT_EQ(RemoveStaleTemporaries(folder_.Path("none")), 0u);
}

TEST_F(StaleTemporariesTest, BelowAFolderButNotBehindLinks) {
  const TestFolder elsewhere;
  const std::string linked = LeaveStaleTemporary(elsewhere.path());
  std::filesystem::create_directories(folder_.Path("a/b"));
  std::filesystem::create_directory_symlink(elsewhere.path(), folder_.Path("a/link"));
  const std::string here = LeaveStaleTemporary(folder_.path());
  const std::string below = LeaveStaleTemporary(folder_.Path("a/b"));
  EXPECT_EQ(RemoveStaleTemporaries(folder_.path()), 1u);
  EXPECT_FALSE(RealFileSystem().IsFile(here));
  EXPECT_EQ(RemoveStaleTemporariesBelow(folder_.path()), 1u);
  EXPECT_FALSE(RealFileSystem().IsFile(below));
  EXPECT_TRUE(RealFileSystem().IsFile(linked));
  EXPECT_EQ(RemoveStaleTemporariesBelow(folder_.Path("none")), 0u);
}

// What a writer that is killed in the middle leaves is what this takes for stale.
TEST_F(StaleTemporariesTest, AKilledWriterIsCleanedUpAfter) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = RealFileSystem().CreateAtomic(folder_.Path("page"));
    const std::string text = "half of it";
    if (file.ok()) (void)(*file)->Append(std::as_bytes(std::span(text)));
    ::_exit(0);  // no destructor removes it
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  const std::vector<std::string> left = RealFileSystem().List(folder_.Path("")).value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(RemoveStaleTemporaries(folder_.Path("")), 0u);  // it may be another machine's
  std::filesystem::last_write_time(
      folder_.Path(left[0]),
      std::filesystem::file_time_type::clock::now() - std::chrono::seconds(2 * kStaleSeconds));
  EXPECT_EQ(RemoveStaleTemporaries(folder_.Path("")), 1u);
}

}  // namespace
}  // namespace draftmark
