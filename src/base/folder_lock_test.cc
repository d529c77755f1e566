#include "src/base/folder_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

TEST(FolderLockTest, OneAtATime) {
  const TestFolder folder;
  {
    DM_ASSERT_OK_AND_ASSIGN(const FolderLock lock, FolderLock::Take(folder.path()));
    EXPECT_THAT(FolderLock::Take(folder.path()),
                StatusIs(StatusCode::kUnavailable,
                         HasSubstr(folder.path() + ": another process is changing it")));
  }
  EXPECT_THAT(FolderLock::Take(folder.path()), IsOk());
}

TEST(FolderLockTest, ReadersTogetherButNotWithWhoChanges) {
  const TestFolder folder;
  {
    DM_ASSERT_OK_AND_ASSIGN(const FolderLock one, FolderLock::TakeToRead(folder.path()));
    DM_ASSERT_OK_AND_ASSIGN(const FolderLock two, FolderLock::TakeToRead(folder.path()));
    EXPECT_THAT(
        FolderLock::Take(folder.path()),
        StatusIs(StatusCode::kUnavailable,
                 HasSubstr(folder.path() + ": another process is changing it, or checking")));
  }
  DM_ASSERT_OK_AND_ASSIGN(const FolderLock lock, FolderLock::Take(folder.path()));
  EXPECT_THAT(FolderLock::TakeToRead(folder.path()),
              StatusIs(StatusCode::kUnavailable,
                       HasSubstr(folder.path() + ": another process is changing it")));
  EXPECT_THAT(FolderLock::TakeToRead(folder.Path("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr(folder.Path("none"))));
}

TEST(FolderLockTest, AMovedLockHolds) {
  const TestFolder folder;
  StatusOr<FolderLock> taken = FolderLock::Take(folder.path());
  ASSERT_THAT(taken, IsOk());
  {
    const FolderLock moved = std::move(taken).value();
    EXPECT_THAT(FolderLock::Take(folder.path()), StatusIs(StatusCode::kUnavailable, ::testing::_));
  }
  EXPECT_THAT(FolderLock::Take(folder.path()), IsOk());
}

TEST(FolderLockTest, AKilledProcessLetsGo) {
  const TestFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const StatusOr<FolderLock> lock = FolderLock::Take(folder.path());
    if (!lock.ok() || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(FolderLock::Take(folder.path()), StatusIs(StatusCode::kUnavailable, ::testing::_));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(FolderLock::Take(folder.path()), IsOk());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FolderLockTest, WhatIsNoFolderIsNamed) {
  const TestFolder folder;
  EXPECT_THAT(FolderLock::Take(folder.Path("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr(folder.Path("none"))));
  ASSERT_THAT(WriteTextFile(folder.Path("file"), "x"), IsOk());
  EXPECT_THAT(FolderLock::Take(folder.Path("file")).status().message(),
              HasSubstr(folder.Path("file")));
}

}  // namespace
}  // namespace draftmark
