// `draftmark verify --shard`: every case runs in exactly one shard, and nothing else changes.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kGolden = Runfiles("golden");
constexpr int kShards = 3;

struct Counts {
  std::map<std::string, int> cases;     // id or suite -> how often it ran
  std::map<std::string, int> outcomes;  // "id outcome" -> how often
  std::size_t passed = 0;
  std::size_t failed = 0;

  void Add(const CommandResult& result) {
    EXPECT_THAT(result.err, IsEmpty());
    const Json report = Json::parse(result.out);
    for (const Json& group : report["groups"]) {
      ++cases[group["suite"].get<std::string>() + "/" + group["subject"].get<std::string>()];
    }
    for (const char* const list : {"operations", "drafts"}) {
      for (const Json& one : report[list]) {
        const std::string id = one[one.contains("id") ? "id" : "case"];
        ++cases[id];
        ++outcomes[id + " " + one["outcome"].get<std::string>()];
      }
    }
    passed += report["passed"].get<std::size_t>();
    failed += report["failed"].get<std::size_t>();
  }
};

// An entry about one case, which the reference passes: an UNEXPECTED PASS in the shard that has it.
// The others must not call the entry stale.
TEST(VerifyShardTest, EveryGoldenCaseIsInExactlyOneShard) {
  const TestFolder folder;
  const std::string file = folder.Path("expectations.toml");
  ASSERT_THAT(WriteTextFile(file,
                            "schema_version = 1\n[[expectation]]\n"
                            "case = \"draft/dflash_softcap/*\"\nkind = \"known_failure\"\n"
                            "reason = \"a test\"\nowner = \"tests\"\nlink = \"issue 1\"\n"
                            "expires = 2099-12-31\nsignature = \"step0.norm: bound\"\n"),
              IsOk());
  const std::vector<std::string> all = {"verify", "--golden", kGolden, "--expectations",
                                        file,     "--format", "json"};
  Counts whole;
  whole.Add(RunCommand(all));
  EXPECT_EQ(whole.failed, 1u);
  EXPECT_GT(whole.cases.size(), 100u);

  Counts together;
  for (int i = 1; i <= kShards; ++i) {
    std::vector<std::string> arguments = all;
    arguments.insert(arguments.end(),
                     {"--shard", std::to_string(i) + "/" + std::to_string(kShards)});
    const CommandResult result = RunCommand(std::move(arguments));
    Counts one;
    one.Add(result);
    EXPECT_GE(one.cases.size(), whole.cases.size() / kShards - 1) << "shard " << i;
    EXPECT_LE(one.cases.size(), whole.cases.size() / kShards + 1) << "shard " << i;
    EXPECT_EQ(result.code, one.failed == 0 ? 0 : 1);
    together.Add(result);
  }
  EXPECT_EQ(together.cases, whole.cases);
  EXPECT_EQ(together.outcomes, whole.outcomes);
  EXPECT_EQ(together.passed, whole.passed);
  EXPECT_EQ(together.failed, whole.failed);
}

TEST(VerifyShardTest, NamedCasesAreSharedAsWell) {
  const CommandResult result = RunCommand(
      {"verify", "op/rms_norm/rows=4,h=96/bf16", "op/rms_norm/rows=1,h=1/bf16", "--shard", "2/2"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("rows=1,h=1"), Not(HasSubstr("rows=4")),
                                EndsWith("1 checks passed, 0 failed\n")));
}

TEST(VerifyShardTest, WhatIsNoShardIsAnError) {
  const CommandResult result =
      RunCommand({"verify", "op/rms_norm/rows=1,h=1/bf16", "--shard", "3/2"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("shard: expected I/N with 1 <= I <= N <= 10000"));
}

}  // namespace
}  // namespace draftmark
