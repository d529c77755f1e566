// For the tests of the families: a config of each, changed one key at a time, and cases of whole
// files with the fields that they must give.
//
//   EXPECT_ERROR(With(Qwen3(), R"({"head_dim": null})"), kNotFound, HasSubstr("head_dim"));
#ifndef DRAFTMARK_SRC_CONFIG_FAMILY_TESTING_H_
#define DRAFTMARK_SRC_CONFIG_FAMILY_TESTING_H_

#include <ostream>
#include <string>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/config/model_config.h"

namespace draftmark {

inline Json Parse(const std::string& text) { return Json::parse(text); }

// `base` with the members of `patch` put in; null removes one (RFC 7386).
inline Json With(const Json& base, const std::string& patch) {
  Json json = base;
  json.merge_patch(Parse(patch));
  return json;
}

inline StatusOr<ModelConfig> Read(const Json& json) { return ParseModelConfig(json, "x.json"); }

// The error has this code, names the file and matches the rest.
#define EXPECT_ERROR(json, code, ...)                \
  EXPECT_THAT(Read(json), StatusIs(StatusCode::code, \
                                   ::testing::AllOf(::testing::HasSubstr("x.json"), __VA_ARGS__)))

inline Json Qwen3() {
  return Parse(R"({"model_type": "qwen3", "hidden_size": 1024, "vocab_size": 1000,
      "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128,
      "intermediate_size": 3072})");
}

inline Json Qwen3Moe() {
  return With(Qwen3(), R"({"model_type": "qwen3_moe", "num_experts": 64, "num_experts_per_tok": 8,
      "moe_intermediate_size": 768})");
}

inline Json DeepseekV3() {
  return With(Qwen3Moe(), R"({"model_type": "deepseek_v3", "head_dim": null, "kv_lora_rank": 512,
      "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128})");
}

inline Json DeepseekV4() {
  return With(Qwen3Moe(), R"({"model_type": "deepseek_v4", "head_dim": 512, "q_lora_rank": 1024,
      "num_key_value_heads": 1, "qk_rope_head_dim": 64, "o_lora_rank": 1024, "o_groups": 8,
      "hc_mult": 4, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512,
      "compress_ratios": [0, 4]})");
}

inline Json Nemotron() {
  return With(Qwen3(), R"({"model_type": "nemotron_h", "mamba_num_heads": 64, "mamba_head_dim": 64,
      "ssm_state_size": 128, "n_groups": 8, "hybrid_override_pattern": "ME*",
      "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
      "moe_shared_expert_intermediate_size": 3712, "n_shared_experts": 1})");
}

inline Json Nested(const std::string& family, const Json& text) {
  Json json;
  json["model_type"] = family;
  json["text_config"] = text;
  return json;
}

inline Json GemmaText() {
  return With(Qwen3(), R"({"global_head_dim": 512, "num_hidden_layers": 30})");
}

inline Json StepText() {
  return Parse(R"({"hidden_size": 1024, "vocab_size": 1000, "num_attention_heads": 16,
      "num_attention_groups": 8, "head_dim": 128, "intermediate_size": 11264,
      "moe_num_experts": 288, "moe_top_k": 8, "moe_intermediate_size": 1280,
      "share_expert_dim": 1280})");
}

inline Json FlashText() {
  return With(Qwen3Moe(), R"({"shared_expert_intermediate_size": 640, "hc_count": 4,
      "hc_lowrank": 320, "indexer_n_heads": 4, "indexer_head_dim": 128, "indexer_budget": 2048,
      "indexer_compress_ratio": 4})");
}

// One file with the fields it must give. Values are those of published models where they are known;
// the files are our own.
struct FamilyCase {
  std::string name;
  std::string family;
  std::string text;
  SizingFields fields;
};

inline void PrintTo(const FamilyCase& c, std::ostream* os) { *os << c.name; }

// Sizes that no rule is about.
#define DM_PLAIN_SIZES R"("hidden_size": 2048, "vocab_size": 1000, "num_attention_heads": 16)"

class FamilyTest : public ::testing::TestWithParam<FamilyCase> {
 protected:
  void ExpectFields() {
    JsonParseOptions options;
    options.allow_nonfinite = true;
    DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(GetParam().text, "x.json", options));
    DM_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(json, "x.json"));
    EXPECT_EQ(config.family, GetParam().family);
    EXPECT_EQ(config.fields, GetParam().fields)
        << ToJson(config.fields).dump(1) << "\nexpected " << ToJson(GetParam().fields).dump(1);
  }
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_FAMILY_TESTING_H_
