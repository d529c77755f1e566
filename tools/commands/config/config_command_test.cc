#include "tools/commands/config/config_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kConfigs[] = "golden/configs/";

TEST(ConfigCommandTest, EveryGoldenFileAsJson) {
  const Json expected = Json::parse(ReadTextFile(std::string(kConfigs) + "expected.json").value());
  for (const char* group : {"targets", "drafters"}) {
    const bool target = std::string(group) == "targets";
    for (const auto& [name, item] : expected[group].items()) {
      SCOPED_TRACE(name);
      const CommandResult result =
          RunCommand({"config", kConfigs + item["file"].get<std::string>(), "--format", "json"});
      ASSERT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.err, "");
      const Json json = Json::parse(result.out);
      Json wanted;
      wanted["kind"] = target ? "target" : "drafter";
      if (target) {
        const std::string family = item["family"];
        wanted["family"] = family.substr(0, family.find(' '));
        wanted["config"] = item["config"];
      } else {
        wanted["geometry"] = item["geometry"];
      }
      EXPECT_EQ(json, wanted);
    }
  }
}

TEST(ConfigCommandTest, TextIsATable) {
  const CommandResult target = RunCommand({"config", std::string(kConfigs) + "qwen3_8b.json"});
  EXPECT_EQ(target.code, 0);
  EXPECT_THAT(target.out, AllOf(HasSubstr("family  qwen3\n"), HasSubstr("config\n"),
                                HasSubstr("  hidden_size                      4096\n"),
                                HasSubstr("  attn_gated                       false\n")));
  const CommandResult drafter =
      RunCommand({"config", std::string(kConfigs) + "drafter_configs.json", "--entry",
                  "z-lab/Kimi-K2.5-DFlash"});
  EXPECT_EQ(drafter.code, 0);
  EXPECT_THAT(drafter.out,
              AllOf(HasSubstr("  target_layer_ids             1, 12, 24, 35, 47, 58\n"),
                    HasSubstr("  sliding_window               -\n"), HasSubstr("details\n"),
                    HasSubstr("attention_factor                  1.4158883\n")));
}

TEST(ConfigCommandTest, FlatJson) {
  const TestFolder folder;
  const Json expected = Json::parse(ReadTextFile(std::string(kConfigs) + "expected.json").value());
  const std::string path = folder.Path("flat.json");
  ASSERT_THAT(WriteTextFile(path, expected["targets"]["kimi_k3"]["config"].dump()), IsOk());
  const CommandResult result = RunCommand({"config", path, "--format=json"});
  EXPECT_EQ(result.code, 0);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["family"], "flat");
  EXPECT_EQ(json["config"], expected["targets"]["kimi_k3"]["config"]);
}

TEST(ConfigCommandTest, ErrorsHaveCodeTwoAndOneLine) {
  const TestFolder folder;
  const auto file = [&](const std::string& name, const std::string& text) {
    EXPECT_THAT(WriteTextFile(folder.Path(name), text), IsOk());
    return folder.Path(name);
  };
  const std::string catalogue = std::string(kConfigs) + "drafter_configs.json";
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"config"}, "FILE is required"},
      {{"config", "nowhere.json"}, "nowhere.json"},
      {{"config", "x.json", "--format", "xml"}, "--format"},
      {{"config", file("bad.json", "{")}, "bad.json: not valid JSON"},
      {{"config", file("list.json", "[]")}, "expected a JSON object"},
      {{"config", file("empty.json", "{}")}, "model_type: required, but absent"},
      {{"config", file("other.json", R"({"model_type": "gpt2"})")},
       "unsupported model_type \"gpt2\""},
      {{"config", file("nan.json", R"({"model_type": "qwen3", "hidden_size": NaN})")},
       "hidden_size: expected an unsigned 64-bit integer, found NaN"},
      {{"config", std::string(kConfigs) + "qwen3_8b.json", "--entry", "x"}, "--entry"},
      {{"config", catalogue}, "one entry must be named"},
      {{"config", catalogue, "--entry", "nobody"}, "no entry \"nobody\""},
      {{"config", catalogue, "--entry", "recipe/qwen3-8b-domino"}, "GRU"},
      {{"config", catalogue, "--entry", "z-lab/Qwen3.5-9B-DFlash"},
       "(unverified): target_layer_ids: required, but absent"},
  };
  for (const auto& [arguments, message] : cases) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(arguments, " ")));
    const CommandResult result = RunCommand(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "");
  }
}

TEST(ConfigCommandTest, Help) {
  const CommandResult result = RunCommand({"config", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("FILE"), HasSubstr("--entry"), HasSubstr("--format")));
}

}  // namespace
}  // namespace draftmark
