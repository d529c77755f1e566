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
    EXPECT_EQ(Json(config->rope.type), entry["rope"]["type"]);
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

// The oracle cases' own defaults: rope_theta, layer types, causality.
TEST(DrafterCaseTest, GoldenCases) {
  const auto load = [](const std::string& name) {
    return LoadDrafterConfig("golden/drafter/" + name + "/config.json");
  };
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig sliding, load("dflash_sliding_noncausal"));
  EXPECT_EQ(sliding.sliding_window, 20u);
  EXPECT_THAT(sliding.layer_causal, ElementsAre(false, false));
  EXPECT_EQ(sliding.rope.theta, 1e6);
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig slide, load("dflash_window_slide"));
  EXPECT_THAT(slide.layer_causal, ElementsAre(true, false));
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig wide, load("dflash_wide_head"));
  EXPECT_EQ(wide.q_dim(), 640u);
  EXPECT_EQ(wide.rope.theta, 10000);
  EXPECT_EQ(wide.rms_norm_eps, 1e-5);
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig yarn, load("dflash_yarn"));
  EXPECT_EQ(yarn.rope.factor, 4);
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig softcap, load("dflash_softcap"));
  EXPECT_EQ(softcap.final_logit_softcapping, 15);
  EXPECT_EQ(softcap.output_multiplier, 0.75);
  EXPECT_EQ(softcap.input_embedding_scale, 16);
}

// Which parts of the geometry a key may change when it is dropped and that is no error.
const std::map<std::string, std::set<std::string>>& OptionalKeys() {
  static const auto* const kKeys = new std::map<std::string, std::set<std::string>>{
      {"max_position_embeddings", {"max_position_embeddings"}},
      {"num_target_layers", {"num_target_layers"}},
      {"layer_types", {"layer_types", "layer_causal_resolved", "sliding_window"}},
      {"is_causal", {"is_causal", "layer_causal_resolved"}},
      {"sliding_window_non_causal", {"sliding_window_non_causal"}},
      {"markov_head_type", {"markov_head_type"}},
      {"markov_rank", {"markov_rank", "confidence_head_with_markov"}},
  };
  return *kKeys;
}

// Drops each key of an object of the file, and gives each key that is read a wrong type.
void MutateKeys(const Json& json, const Json::json_pointer& at, const std::string& path,
                const Json& geometry, int& errors) {
  for (const auto& [key, value] : json[at].items()) {
    SCOPED_TRACE(path + (at / key).to_string());
    Json dropped = json;
    dropped[at].erase(key);
    const StatusOr<DrafterConfig> config = ParseDrafterConfig(dropped, path);
    if (config.ok()) {
      const Json found = Json::parse(GeometryToJson(*config).dump());
      for (const auto& [name, part] : geometry.items()) {
        if (found[name] == part) continue;
        const auto optional = OptionalKeys().find(key);
        EXPECT_TRUE(optional != OptionalKeys().end() && optional->second.contains(name))
            << name << " became " << found[name];
      }
      if (found == geometry) continue;
    } else {
      ++errors;
      // Without an object the first of its keys is named.
      if (!value.is_object()) {
        EXPECT_THAT(config.status().message(), HasSubstr(key));
      }
    }
    for (const Json& wrong : {Json("x"), Json(-7), Json(1e30), Json(Json::object())}) {
      // A negative or huge value of a key whose value is a plain number, text where a list is due.
      if (value.is_object() && wrong.is_object()) continue;
      Json mutant = json;
      mutant[at][key] = wrong;
      const StatusOr<DrafterConfig> result = ParseDrafterConfig(mutant, path);
      ASSERT_FALSE(result.ok()) << wrong;
      EXPECT_THAT(result.status().message(), HasSubstr(key)) << wrong;
      ++errors;
    }
  }
}

TEST(DrafterGoldenTest, EveryMutantIsAnErrorOrADocumentedFallback) {
  const Json expected = ReadJson(std::string(kConfigs) + "expected.json");
  int errors = 0;
  for (const auto& [name, drafter] : expected["drafters"].items()) {
    const std::string path = kConfigs + drafter["file"].get<std::string>();
    const Json json = ReadJson(path);
    for (const char* at : {"", "/dflash_config", "/transformer_layer_config", "/rope_parameters"}) {
      const Json::json_pointer pointer(at);
      if (json.contains(pointer)) MutateKeys(json, pointer, path, drafter["geometry"], errors);
    }
  }
  EXPECT_GT(errors, 400);  // the loops ran
}

}  // namespace
}  // namespace draftmark
