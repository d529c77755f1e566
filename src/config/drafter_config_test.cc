#include "src/config/drafter_config.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kConfigs[] = "golden/configs/";

Json ReadJson(const std::string& path) {
  const StatusOr<std::string> text = ReadTextFile(path);
  EXPECT_THAT(text, IsOk());
  const StatusOr<Json> json = ParseJson(*text, path);
  EXPECT_THAT(json, IsOk());
  return *json;
}

TEST(DrafterGoldenTest, EveryFileGivesItsExpectedGeometry) {
  const Json expected = ReadJson(std::string(kConfigs) + "expected.json");
  ASSERT_EQ(expected["drafters"].size(), 8u);
  for (const auto& [name, drafter] : expected["drafters"].items()) {
    SCOPED_TRACE(name);
    const std::string path = kConfigs + drafter["file"].get<std::string>();
    EXPECT_TRUE(IsDrafterConfig(ReadJson(path)));
    DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig config, LoadDrafterConfig(path));
    const OrderedJson geometry = GeometryToJson(config);
    EXPECT_EQ(Json::parse(geometry.dump()), drafter["geometry"]) << geometry.dump(1);
  }
}

TEST(DrafterGoldenTest, TargetsAreNoDrafters) {
  const Json expected = ReadJson(std::string(kConfigs) + "expected.json");
  for (const auto& [name, target] : expected["targets"].items()) {
    const std::string path = kConfigs + target["file"].get<std::string>();
    const StatusOr<std::string> text = ReadTextFile(path);
    JsonParseOptions options;
    options.allow_nonfinite = true;
    DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(*text, path, options));
    EXPECT_FALSE(IsDrafterConfig(json)) << name;
  }
}

// Every usable entry parses and agrees with its own derived values; the others are refused.
TEST(DrafterCatalogueTest, UsableEntriesAgreeWithThemselves) {
  const std::string path = std::string(kConfigs) + "drafter_configs.json";
  const Json catalogue = ReadJson(path);
  EXPECT_TRUE(IsDrafterConfig(catalogue));
  EXPECT_EQ(DrafterEntryNames(catalogue).size(), 44u);
  int usable = 0;
  std::map<StatusCode, std::set<std::string>> refused;
  for (const Json& entry : catalogue["configs"]) {
    const std::string name = entry["name"];
    SCOPED_TRACE(name);
    const StatusOr<DrafterConfig> config = ParseDrafterConfig(catalogue, path, name);
    // The catalogue has a parameter count exactly where the geometry is complete and ours.
    if (!entry.contains("weights_params_computed")) {
      ASSERT_FALSE(config.ok());
      EXPECT_THAT(config.status().message(), HasSubstr(name));
      refused[config.status().code()].insert(name);
      continue;
    }
    ++usable;
    ASSERT_THAT(config, IsOk());
    EXPECT_EQ(CountDrafterParameters(*config), entry["weights_params_computed"]);
    EXPECT_EQ(config->drafts(config->block_size), entry["draft_tokens_per_block"]);
    EXPECT_EQ(config->num_attention_heads / config->num_key_value_heads, entry["gqa_ratio"]);
    const OrderedJson geometry = GeometryToJson(*config);
    for (const auto& [key, value] : entry.items()) {
      if (key == "rope" || key == "kind" || !geometry.contains(key)) continue;
      EXPECT_EQ(Json::parse(geometry[key].dump()), value) << key;
    }
    EXPECT_EQ(Json(config->rope.theta), entry["rope"]["theta"]);
    EXPECT_EQ(config->rope.type, entry["rope"]["type"]);
    // A file that is one bare entry.
    EXPECT_THAT(ParseDrafterConfig(entry, "entry.json"), IsOk());
    EXPECT_THAT(ParseDrafterConfig(entry, "entry.json", name), IsOk());
    EXPECT_THAT(ParseDrafterConfig(entry, "entry.json", "another"),
                StatusIs(StatusCode::kNotFound, HasSubstr("another")));
  }
  EXPECT_EQ(usable, 33);
  EXPECT_THAT(refused[StatusCode::kUnimplemented],
              ElementsAre("MiMo-V2.5 DFlash", "deepseek-ai/dspark_gemma4_12b_block7",
                          "poolside Laguna DFlash", "recipe/qwen3-8b-domino"));
  EXPECT_EQ(refused[StatusCode::kNotFound].size(), 7u);  // their first unknown value is named
}

}  // namespace
}  // namespace draftmark
