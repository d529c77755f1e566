#include "tools/commands/command.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run.h"

namespace draftmark {
namespace {

TEST(PrintJsonTest, IndentsAndEndsTheLine) {
  OrderedJson json;
  json["b"] = 1;
  json["a"] = "x";
  std::ostringstream out;
  PrintJson(out, json);
  EXPECT_EQ(out.str(), "{\n  \"b\": 1,\n  \"a\": \"x\"\n}\n");
}

TEST(PrintJsonTest, BytesThatAreNotUtf8AreReplaced) {
  OrderedJson json = OrderedJson::array({"a\xff"});
  std::ostringstream out;
  PrintJson(out, json);
  EXPECT_EQ(Json::parse(out.str())[0], "a\xEF\xBF\xBD");
}

TEST(CommandContextTest, MessagesHaveNoControlCharacters) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.out = out, .err = err};
  context.Fail(InvalidArgumentError("a\x1b[2J\x06\x7f\r:\tb\n  \xc3\xa4"));
  EXPECT_EQ(err.str(), "draftmark: a\\x1b[2J\\x06\\x7f\\x0d:\\x09b\n  \xc3\xa4\n");
  EXPECT_EQ(context.exit_code, kExitError);
}

TEST(RunDraftmarkTest, AMisspeltSubcommandIsNamed) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"verifi"}, {"verifi", "--backend", "cuda"}, {"golden", "verifi"}}) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunDraftmark(arguments, out, err), kExitError);
    EXPECT_EQ(err.str(),
              "draftmark: verifi: no such subcommand\nRun with --help for more information.\n");
    EXPECT_EQ(out.str(), "");
  }
  const auto error = [](std::vector<std::string> arguments) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunDraftmark(std::move(arguments), out, err), kExitError);
    return err.str();
  };
  EXPECT_THAT(error({"draft", "--frob"}), testing::HasSubstr("CONFIG is required\n"));
  EXPECT_EQ(error({}), "A subcommand is required\nRun with --help for more information.\n");
}

// Every subcommand that prints the name of its file.
TEST(PrintJsonTest, PathsThatAreNotUtf8) {
  const TestFolder folder;
  const auto copy = [&](const std::string& name) {
    std::string path = folder.Path("\xff" + name);
    EXPECT_THAT(WriteTextFile(path, ReadTextFile("golden/configs/" + name).value()), IsOk());
    return path;
  };
  const std::string target = copy("qwen3_8b.json");
  const std::string drafter = copy("drafter_specforge_qwen3_8b_dflash.json");
  const std::vector<std::vector<std::string>> commands = {
      {"sizes", target, "--max-batch-tokens", "8", "--max-seq-len", "64", "--kv-block-size", "16",
       "--max-batch-size", "1"},
      {"scratch", drafter, "--version", "2", "--ctx-window", "64", "--max-batch", "1"},
      {"config", target},
      {"config", drafter},
  };
  for (std::vector<std::string> arguments : commands) {
    SCOPED_TRACE(arguments.front());
    arguments.insert(arguments.end(), {"--format", "json"});
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunDraftmark(arguments, out, err), kExitGood) << err.str();
    EXPECT_TRUE(Json::accept(out.str())) << out.str();
  }
}

}  // namespace
}  // namespace draftmark
