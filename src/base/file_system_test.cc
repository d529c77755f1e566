#include "src/base/file_system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <tuple>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::vector<std::string> Names(const TestFolder& folder) {
  return RealFileSystem().List(folder.path()).value();
}

// Root may do everything, so permissions are tested as another user. False where the system does
// not allow that.
class UnprivilegedScope {
 public:
  UnprivilegedScope() {
    constexpr uid_t kNobody = 65534;
    was_root_ = ::geteuid() == 0;
    ok_ = !was_root_ || ::seteuid(kNobody) == 0;
  }
  ~UnprivilegedScope() {
    if (was_root_ && ok_) DM_CHECK(::seteuid(0) == 0);
  }
  bool ok() const { return ok_; }

 private:
  bool was_root_ = false;
  bool ok_ = false;
};

TEST(MapTest, ContentsAndEmptyFile) {
  const TestFolder folder;
  const std::string text("a\0b\n", 4);
  ASSERT_THAT(WriteTextFile(folder.Path("f"), text), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("empty"), ""), IsOk());
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), text);
  DM_ASSERT_OK_AND_ASSIGN(const auto empty, RealFileSystem().Map(folder.Path("empty")));
  EXPECT_TRUE(empty->bytes().empty());
  EXPECT_EQ(ReadTextFile(folder.Path("empty")).value(), "");
}

TEST(MapTest, StaysAsItWasWhenTheFileIsReplaced) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "old"), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const auto old, RealFileSystem().Map(folder.Path("f")));
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "newer"), IsOk());
  ASSERT_EQ(old->bytes().size(), 3u);
  EXPECT_EQ(old->bytes()[0], std::byte{'o'});
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), "newer");
}

TEST(MapTest, WrongPathsAreNamed) {
  const TestFolder folder;
  const std::string missing = folder.Path("missing");
  EXPECT_THAT(RealFileSystem().Map(missing),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr(missing), HasSubstr("No such file or directory"))));
  EXPECT_THAT(RealFileSystem().Map(folder.path()),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(folder.path()),
                             HasSubstr("expected a regular file, found a folder"))));
  // Opening a pipe that nobody writes would otherwise wait for ever.
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(RealFileSystem().Map(folder.Path("pipe")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found a named pipe")));
  EXPECT_THAT(RealFileSystem().Map("/dev/null"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found a device")));
  EXPECT_THAT(RealFileSystem().Map(""), StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "x"), IsOk());
  const std::string cut = folder.Path("f") + std::string("\0.json", 6);
  EXPECT_THAT(RealFileSystem().Map(cut),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("zero byte")));
  EXPECT_FALSE(RealFileSystem().IsFile(cut));
  EXPECT_THAT(RealFileSystem().CreateAtomic(cut), StatusIs(StatusCode::kInvalidArgument, _));
}

TEST(MapTest, PermissionsAreNamed) {
  const TestFolder folder("/tmp");  // Bazel's own folder may be closed to others
  ASSERT_THAT(WriteTextFile(folder.Path("secret"), "x"), IsOk());
  ASSERT_EQ(::chmod(folder.Path("secret").c_str(), 0000), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  {
    const UnprivilegedScope scope;
    if (!scope.ok()) GTEST_SKIP() << "this environment does not let root become another user";
    EXPECT_THAT(RealFileSystem().Map(folder.Path("secret")),
                StatusIs(StatusCode::kUnavailable,
                         AllOf(HasSubstr("secret"), HasSubstr("Permission denied"))));
    EXPECT_THAT(RealFileSystem().CreateAtomic(folder.Path("new")),
                StatusIs(StatusCode::kUnavailable,
                         AllOf(HasSubstr("new"), HasSubstr("Permission denied"))));
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

TEST(AtomicFileTest, NothingIsVisibleBeforeCommit) {
  const TestFolder folder;
  const std::string path = folder.Path("f");
  DM_ASSERT_OK_AND_ASSIGN(const auto file, RealFileSystem().CreateAtomic(path));
  ASSERT_THAT(file->Append(Bytes("ab")), IsOk());
  ASSERT_THAT(file->Append({}), IsOk());
  ASSERT_THAT(file->Append(Bytes("c")), IsOk());
  EXPECT_FALSE(RealFileSystem().IsFile(path));
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_EQ(ReadTextFile(path).value(), "abc");
  EXPECT_THAT(Names(folder), ElementsAre("f"));
}

TEST(AtomicFileTest, WithoutCommitTheOldFileStaysAndNoTemporary) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "old"), IsOk());
  {
    DM_ASSERT_OK_AND_ASSIGN(const auto file, RealFileSystem().CreateAtomic(folder.Path("f")));
    ASSERT_THAT(file->Append(Bytes("new")), IsOk());
    EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), "old");
    EXPECT_EQ(Names(folder).size(), 2u);
  }
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), "old");
  EXPECT_THAT(Names(folder), ElementsAre("f"));
}

TEST(AtomicFileTest, CommittedOnce) {
  const TestFolder folder;
  DM_ASSERT_OK_AND_ASSIGN(const auto file, RealFileSystem().CreateAtomic(folder.Path("f")));
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_THAT(file->Commit(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("committed")));
  EXPECT_THAT(file->Append(Bytes("x")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("committed")));
}

TEST(AtomicFileTest, PermissionBitsFollowTheUmask) {
  const TestFolder folder;
  for (const auto& [mask, expected] : {std::pair(022, 0644), std::pair(027, 0640)}) {
    const mode_t before = ::umask(mask);
    const Status status = WriteTextFile(folder.Path("f"), "x");
    ::umask(before);
    ASSERT_THAT(status, IsOk());
    struct stat info {};
    ASSERT_EQ(::stat(folder.Path("f").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, static_cast<mode_t>(expected));
  }
}

TEST(AtomicFileTest, WrongTargets) {
  const TestFolder folder;
  EXPECT_THAT(RealFileSystem().CreateAtomic(folder.Path("no/such")),
              StatusIs(StatusCode::kNotFound, HasSubstr("no/such")));
  EXPECT_THAT(RealFileSystem().CreateAtomic(folder.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found a folder")));
  EXPECT_THAT(RealFileSystem().CreateAtomic(folder.Path("x/")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found a folder")));
  EXPECT_THAT(WriteTextFile(folder.Path(std::string(300, 'n')), "x"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too long")));
  EXPECT_THAT(Names(folder), IsEmpty());
}

TEST(AtomicFileTest, LongestNameAndSymbolicLink) {
  const TestFolder folder;
  // 255 bytes: a temporary that appended a suffix could not be created.
  EXPECT_THAT(WriteTextFile(folder.Path(std::string(255, 'n')), "x"), IsOk());
  ASSERT_THAT(WriteTextFile(folder.Path("target"), "old"), IsOk());
  ASSERT_EQ(::symlink("target", folder.Path("link").c_str()), 0);
  ASSERT_THAT(WriteTextFile(folder.Path("link"), "new"), IsOk());
  EXPECT_EQ(ReadTextFile(folder.Path("link")).value(), "new");
  EXPECT_EQ(ReadTextFile(folder.Path("target")).value(), "old");
}

// Root may put a file in the place of /dev/null, and from then on nothing works.
TEST(AtomicFileTest, WhatIsNoFileIsNotReplaced) {
  const TestFolder folder;
  const auto refused = [](const std::string& path, const char* found) {
    EXPECT_THAT(WriteTextFile(path, "x"),
                StatusIs(StatusCode::kInvalidArgument,
                         StartsWith(path + ": expected a regular file, found " + found)));
  };
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  refused(folder.Path("pipe"), "a named pipe");
  for (const auto& [name, target, found] :
       {std::tuple("null", "/dev/null", "a device"), std::tuple("to_pipe", "pipe", "a named pipe"),
        std::tuple("to_folder", ".", "a folder")}) {
    ASSERT_EQ(::symlink(target, folder.Path(name).c_str()), 0);
    refused(folder.Path(name), found);
  }
  // As /dev/stdout, here with a file behind it.
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "old"), IsOk());
  const int open_file = ::open(folder.Path("f").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(open_file, 0);
  const std::string number = "/proc/self/fd/" + std::to_string(open_file);
  ASSERT_EQ(::symlink(number.c_str(), folder.Path("stdout").c_str()), 0);
  refused(folder.Path("stdout"), "a link to an open one");
  ::close(open_file);
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), "old");
  EXPECT_THAT(Names(folder), ElementsAre("f", "null", "pipe", "stdout", "to_folder", "to_pipe"));
}

TEST(AtomicFileTest, BareNameMeansTheCurrentFolder) {
  const TestFolder folder;
  const int before = ::open(".", O_RDONLY | O_DIRECTORY);
  ASSERT_GE(before, 0);
  ASSERT_EQ(::chdir(folder.path().c_str()), 0);
  const Status status = WriteTextFile("bare", "x");
  ASSERT_EQ(::fchdir(before), 0);
  ::close(before);
  EXPECT_THAT(status, IsOk());
  EXPECT_THAT(Names(folder), ElementsAre("bare"));
}

// The kernel's own short write and error: a file size limit inside the second append.
TEST(AtomicFileTest, SystemLimitInTheMiddleOfAWrite) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("f"), "old"), IsOk());
  {
    DM_ASSERT_OK_AND_ASSIGN(const auto file, RealFileSystem().CreateAtomic(folder.Path("f")));
    ASSERT_THAT(file->Append(Bytes(std::string(3000, 'a'))), IsOk());
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 4096;
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status status = file->Append(Bytes(std::string(3000, 'b')));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted,
                                 AllOf(HasSubstr(folder.Path("f")), HasSubstr("too large"))));
    // A caller that goes on must not get a file with a gap.
    EXPECT_THAT(file->Append(Bytes("c")), StatusIs(StatusCode::kResourceExhausted, _));
    EXPECT_THAT(file->Commit(), StatusIs(StatusCode::kResourceExhausted, _));
  }
  EXPECT_EQ(ReadTextFile(folder.Path("f")).value(), "old");
  EXPECT_THAT(Names(folder), ElementsAre("f"));
}

TEST(AtomicFileTest, ConcurrentWritersEachWriteAWholeFile) {
  const TestFolder folder;
  const std::string path = folder.Path("f");
  ASSERT_THAT(WriteTextFile(path, std::string(10000, 'z')), IsOk());
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    threads.emplace_back([&path, letter] {
      for (int i = 0; i < 5; ++i) {
        EXPECT_THAT(WriteTextFile(path, std::string(10000, letter)), IsOk());
        const std::string seen = ReadTextFile(path).value();
        EXPECT_EQ(seen, std::string(10000, seen.empty() ? '?' : seen[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Names(folder), ElementsAre("f"));
}

TEST(FileSystemTest, ListIsSortedByBytes) {
  const TestFolder folder;
  for (const char* name : {"b", "a", "B", "\xC3\xA4", ".hidden"}) {
    ASSERT_THAT(WriteTextFile(folder.Path(name), ""), IsOk());
  }
  EXPECT_THAT(Names(folder), ElementsAre(".hidden", "B", "a", "b", "\xC3\xA4"));
  EXPECT_THAT(RealFileSystem().List(folder.Path("no")),
              StatusIs(StatusCode::kNotFound, HasSubstr("no")));
  EXPECT_THAT(RealFileSystem().List(folder.Path("a")), StatusIs(StatusCode::kNotFound, _));
}

TEST(FileSystemTest, Kinds) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("f"), ""), IsOk());
  EXPECT_TRUE(RealFileSystem().IsFile(folder.Path("f")));
  EXPECT_FALSE(RealFileSystem().IsDirectory(folder.Path("f")));
  EXPECT_TRUE(RealFileSystem().IsDirectory(folder.path()));
  EXPECT_FALSE(RealFileSystem().IsFile(folder.path()));
  EXPECT_FALSE(RealFileSystem().IsFile(folder.Path("no")));
  EXPECT_FALSE(RealFileSystem().IsDirectory(""));
}

TEST(ReadTextFileTest, LimitIsInclusiveAndNamed) {
  const TestFolder folder;
  const std::string path = folder.Path("f");
  ASSERT_THAT(WriteTextFile(path, "0123456789"), IsOk());
  EXPECT_THAT(ReadTextFile(path, RealFileSystem(), 10), IsOk());
  EXPECT_THAT(ReadTextFile(path, RealFileSystem(), 9),
              StatusIs(StatusCode::kResourceExhausted,
                       path + ": expected a text file of at most 9 bytes, found 10 bytes"));
}

TEST(FileSystemTest, CreatesFoldersWithTheirParents) {
  const TestFolder folder;
  FileSystem& files = RealFileSystem();
  ASSERT_THAT(files.CreateDirectories(folder.Path("a/b//c/")), IsOk());
  EXPECT_TRUE(files.IsDirectory(folder.Path("a/b/c")));
  EXPECT_THAT(files.CreateDirectories(folder.Path("a/b")), IsOk());  // there already
  ASSERT_THAT(WriteTextFile(folder.Path("f"), ""), IsOk());
  EXPECT_THAT(files.CreateDirectories(folder.Path("f/d")).message(), HasSubstr(folder.Path("f")));
  EXPECT_FALSE(files.CreateDirectories("").ok());
}

TEST(FileSystemTest, AFolderThatMayNotBeMadeSaysSo) {
  const TestFolder folder("/tmp");  // which other users can reach
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const UnprivilegedScope other;
  if (!other.ok()) GTEST_SKIP() << "this system has no other user";
  const Status status = RealFileSystem().CreateDirectories(folder.Path("a/b"));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("a: Permission denied"));
}

TEST(FileSystemTest, KnowsItsTemporaries) {
  const TestFolder folder;
  {
    DM_ASSERT_OK_AND_ASSIGN(const auto file, RealFileSystem().CreateAtomic(folder.Path("f")));
    const std::vector<std::string> names = Names(folder);
    ASSERT_EQ(names.size(), 1u);
    EXPECT_TRUE(IsTemporaryName(names[0])) << names[0];
  }
  EXPECT_FALSE(IsTemporaryName("f.tmp"));
  EXPECT_FALSE(IsTemporaryName(".draftmark-1"));
}

TEST(JoinPathTest, Slashes) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
}

}  // namespace
}  // namespace draftmark
