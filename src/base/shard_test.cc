#include "src/base/shard.h"

#include <cstdlib>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// How often each of `cases` cases is taken by the `count` shards together.
std::vector<int> Taken(std::size_t count, std::size_t cases) {
  std::vector<int> taken(cases, 0);
  for (std::size_t i = 1; i <= count; ++i) {
    Shard shard = Shard::Parse(std::to_string(i) + "/" + std::to_string(count)).value();
    for (int& times : taken) times += shard.TakesNext() ? 1 : 0;
  }
  return taken;
}

TEST(ShardTest, EveryCaseIsInExactlyOneShard) {
  for (const std::size_t count : {1, 2, 3, 7, 16}) {
    for (const std::size_t cases : {0, 1, 2, 7, 8, 100}) {
      EXPECT_THAT(Taken(count, cases), Each(1)) << count << " shards of " << cases;
    }
  }
}

TEST(ShardTest, SharesAreEven) {
  DM_ASSERT_OK_AND_ASSIGN(Shard shard, Shard::Parse("2/4"));
  std::vector<int> mine;
  for (int i = 0; i < 10; ++i) {
    if (shard.TakesNext()) mine.push_back(i);
  }
  EXPECT_THAT(mine, ::testing::ElementsAre(1, 5, 9));
  EXPECT_EQ(shard.ToString(), "2/4");
  EXPECT_FALSE(shard.takes_everything());
}

TEST(ShardTest, TheDefaultTakesEverything) {
  Shard shard;
  EXPECT_TRUE(shard.takes_everything());
  EXPECT_TRUE(shard.TakesNext() && shard.TakesNext());
}

TEST(ShardTest, WhatIsNoShardIsNamed) {
  for (const char* const text : {"", "0/4", "5/4", "1/0", "1", "/", "1/", "/4", "-1/4", "1/4x",
                                 " 1/4", "1/10001", "1/99999999999999999999", "Bazel"}) {
    EXPECT_THAT(Shard::Parse(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string("\"") + text + "\"")))
        << text;
  }
}

class BazelShardTest : public ::testing::Test {
 protected:
  // This test may itself run in shards.
  void SetUp() override { Set("", ""); }

  static void Set(const char* index, const char* total, const std::string& status_file = "") {
    ::setenv("TEST_SHARD_INDEX", index, 1);
    ::setenv("TEST_TOTAL_SHARDS", total, 1);
    ::setenv("TEST_SHARD_STATUS_FILE", status_file.c_str(), 1);
  }
};

TEST_F(BazelShardTest, TheVariablesAreRead) {
  const TestFolder folder;
  Set("2", "3", folder.Path("status"));
  DM_ASSERT_OK_AND_ASSIGN(const Shard shard, Shard::Parse("bazel"));
  EXPECT_EQ(shard.ToString(), "3/3");
  EXPECT_TRUE(RealFileSystem().IsFile(folder.Path("status")));
}

TEST_F(BazelShardTest, WithoutShardsEverythingIsTaken) {
  const TestFolder folder;
  for (const char* const total : {"", "0"}) {
    Set("0", total, folder.Path("status"));
    DM_ASSERT_OK_AND_ASSIGN(const Shard shard, Shard::Parse("bazel"));
    EXPECT_TRUE(shard.takes_everything());
    EXPECT_FALSE(RealFileSystem().IsFile(folder.Path("status")));
  }
}

TEST_F(BazelShardTest, VariablesThatContradictAreNamed) {
  for (const auto& [index, total] : {std::pair("3", "3"), {"", "3"}, {"x", "3"}, {"0", "x"}}) {
    Set(index, total);
    EXPECT_THAT(Shard::Parse("bazel"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("TEST_SHARD_INDEX")));
  }
}

TEST_F(BazelShardTest, AStatusFileThatCannotBeWrittenIsAnError) {
  Set("0", "2", "/no/such/folder/status");
  EXPECT_THAT(Shard::Parse("bazel"), Not(IsOk()));
}

}  // namespace
}  // namespace draftmark
