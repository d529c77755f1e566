#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/folder_lock.h"
#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/stale_temporaries_testing.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kGolden = Runfiles("golden");

TEST(GoldenCommand, ListsFilesWithTheirCases) {
  const CommandResult outcome = RunCommand({"golden", "list", "--golden", kGolden});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr("operations/rms_norm.safetensors\n          op/rms_norm/rows=1,h=1/bf16\n"));
  EXPECT_THAT(outcome.out, HasSubstr("draft/qwen3.8-27b-dflash2/gamma=8,ctx=2086,steps=2,nb=1\n"));
  EXPECT_THAT(outcome.out, EndsWith(" bytes\n"));
  const CommandResult json =
      RunCommand({"golden", "list", "--golden", kGolden, "--format", "json"});
  EXPECT_EQ(ParseJson(json.out, "output").value()["schema_version"], 1);
}

TEST(GoldenCommand, ChecksWhatMatches) {
  const CommandResult outcome =
      RunCommand({"golden", "check", "--golden", kGolden, "--only", "op/silu_mul/*"});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(outcome.out,
            "PASS operations/silu_mul.safetensors: 9 cases, the same, computed again\n"
            "1 files checked, 0 failed\n");
  const CommandResult json = RunCommand(
      {"golden", "check", "--golden", kGolden, "--only", "silu_mul", "--format", "json"});
  EXPECT_EQ(ParseJson(json.out, "output").value()["checked"], 1);
  const CommandResult nothing =
      RunCommand({"golden", "check", "--golden", kGolden, "--only", "nonsense"});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("no file or case matches \"nonsense\""));
}

TEST(GoldenCommand, RegenNeedsAReason) {
  const CommandResult without = RunCommand({"golden", "regen", "--golden", kGolden});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("--reason is required"));
  const CommandResult empty = RunCommand({"golden", "regen", "--golden", kGolden, "--reason", " "});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("needs a reason"));
}

TEST(GoldenCommand, RegenOfWhatIsRightWritesNothing) {
  const CommandResult outcome = RunCommand(
      {"golden", "regen", "--golden", kGolden, "--only", "silu_mul", "--reason", "none"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "0 files written, 0 entries changed, 0 dropped, 1 unchanged\n");
}

// Two at once would each write a manifest without the other's entries. tools/torture runs several.
TEST(GoldenCommand, RegenOfOneFolderIsForOneProcessAtATime) {
  const TestFolder folder;
  DM_ASSERT_OK_AND_ASSIGN(const FolderLock lock, FolderLock::Take(folder.path()));
  const CommandResult outcome =
      RunCommand({"golden", "regen", "--golden", folder.path(), "--reason", "none"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(folder.path() + ": another process is changing it"));
}

TEST(GoldenCommand, RegenClearsWhatAKilledOneLeft) {
  const TestFolder folder;
  const std::string golden = folder.Path("golden");
  std::filesystem::copy(kGolden, golden, std::filesystem::copy_options::recursive);
  const std::string stale = LeaveStaleTemporary(JoinPath(golden, "operations"));
  const std::vector<std::string> regen = {"golden", "regen",    "--golden", golden,
                                          "--only", "silu_mul", "--reason", "none"};
  // Also where it writes nothing itself.
  EXPECT_EQ(RunCommand(regen).code, 0);
  EXPECT_FALSE(RealFileSystem().IsFile(stale));
}

// It would take files that are new already for damaged ones.
TEST(GoldenCommand, CheckIsNotForAFolderThatIsBeingChanged) {
  const TestFolder folder;
  DM_ASSERT_OK_AND_ASSIGN(const FolderLock lock, FolderLock::Take(folder.path()));
  const CommandResult outcome = RunCommand({"golden", "check", "--golden", folder.path()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(folder.path() + ": another process is changing it"));
}

TEST(GoldenCommand, DiffNamesWhatMoved) {
  const std::string file = kGolden + "/operations/silu_mul.safetensors";
  const CommandResult same = RunCommand({"golden", "diff", file, file});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "1 files compared, 0 differ\n");
  const TestFolder folder;
  const std::string copy = folder.Path("silu_mul.safetensors");
  std::string bytes = ReadTextFile(file).value();
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
  ASSERT_THAT(WriteTextFile(copy, bytes), IsOk());
  const CommandResult moved = RunCommand({"golden", "diff", file, copy});
  EXPECT_EQ(moved.code, 1);
  EXPECT_THAT(moved.out, HasSubstr("1 tensors moved\n  rows="));
  EXPECT_THAT(moved.out, HasSubstr("moved, 1 of "));
  EXPECT_THAT(moved.out, EndsWith("1 files compared, 1 differ\n"));
  // Two folders: the copy alone against all of golden/operations.
  const CommandResult folders =
      RunCommand({"golden", "diff", kGolden + "/operations", folder.path()});
  EXPECT_EQ(folders.code, 1);
  EXPECT_THAT(folders.out, HasSubstr("FAIL rms_norm.safetensors: removed\n"));
  const CommandResult mixed = RunCommand({"golden", "diff", file, folder.path()});
  EXPECT_EQ(mixed.code, 2);
  EXPECT_THAT(mixed.err, HasSubstr("two files or two folders"));
  EXPECT_EQ(RunCommand({"golden", "diff", file, folder.Path("none")}).code, 2);
}

// A damaged file differs, and does not hide the others.
TEST(GoldenCommand, DiffGoesOnAfterADamagedFile) {
  const TestFolder folder;
  std::filesystem::copy(kGolden + "/operations", folder.Path("operations"));
  const std::string damaged = folder.Path("operations/embed.safetensors");
  std::filesystem::remove(damaged);
  ASSERT_THAT(WriteTextFile(damaged, "short"), IsOk());
  std::filesystem::remove(folder.Path("operations/rope.safetensors"));
  const CommandResult result =
      RunCommand({"golden", "diff", kGolden + "/operations", folder.Path("operations")});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("FAIL embed.safetensors: DATA_LOSS"));
  EXPECT_THAT(result.out, HasSubstr("FAIL rope.safetensors: removed\n"));
}

TEST(GoldenCommand, ExportsACaseByName) {
  const TestFolder folder;
  const std::string target = folder.Path("case");
  const CommandResult outcome =
      RunCommand({"golden", "export", "--golden", kGolden, "qwen3-4b-dflash", target});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const CommandResult verified = RunCommand({"verify", target});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_THAT(verified.out, StartsWith("PASS draft/case/"));
  const CommandResult unknown =
      RunCommand({"golden", "export", "--golden", kGolden, "nobody", folder.Path("x")});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("nobody"));
  EXPECT_THAT(unknown.out, IsEmpty());
}

}  // namespace
}  // namespace draftmark
