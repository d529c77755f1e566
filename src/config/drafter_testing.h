// For the tests of the drafter's rules: a config of each kind and layout, changed one key at a time.
//
//   EXPECT_ERROR(With(Flat(), R"({"head_dim": 15})"), kInvalidArgument, HasSubstr("head_dim"));
#ifndef DRAFTMARK_SRC_CONFIG_DRAFTER_TESTING_H_
#define DRAFTMARK_SRC_CONFIG_DRAFTER_TESTING_H_

#include <string>

#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "src/config/drafter_config.h"

namespace draftmark {

inline Json With(const Json& base, const std::string& patch) {
  Json json = base;
  json.merge_patch(Json::parse(patch));  // null removes a member
  return json;
}

inline StatusOr<DrafterConfig> Read(const Json& json) { return ParseDrafterConfig(json, "x.json"); }

// The error has this code, names the file and matches the rest.
#define EXPECT_ERROR(json, code, ...)                \
  EXPECT_THAT(Read(json), StatusIs(StatusCode::code, \
                                   ::testing::AllOf(::testing::HasSubstr("x.json"), __VA_ARGS__)))

inline Json Flat() {
  return Json::parse(R"({"architectures": ["DFlashDraftModel"], "model_type": "qwen3",
      "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "vocab_size": 257,
      "block_size": 8, "num_target_layers": 4, "rope_theta": 10000, "rms_norm_eps": 1e-6,
      "dflash_config": {"target_layer_ids": [0, 2], "mask_token_id": 256}})");
}

inline Json Sliding(const std::string& patch = "{}") {
  return With(With(Flat(), R"({"layer_types": ["sliding_attention", "full_attention"],
                               "sliding_window": 24})"),
              patch);
}

inline Json Dspark() {
  return With(Flat(), R"({"architectures": ["DSparkDraftModel"],
      "dflash_config": {"markov_rank": 32, "markov_head_type": "vanilla"}})");
}

inline Json Dflash2() {
  return With(Flat(), R"({"architectures": ["DFlash2DraftModel"], "dflash_config":
      {"conv_kernel_size": 2, "conv_group_size": 16, "selector_rank": 32, "selector_top_k": 16}})");
}

inline Json Speculators() {
  Json layer = Flat();
  for (const char* key : {"architectures", "dflash_config", "block_size", "num_target_layers"}) {
    layer.erase(key);
  }
  Json json = Json::parse(R"({"architectures": ["DSparkDraftModel"], "block_size": 8,
      "aux_hidden_state_layer_ids": [1, 3], "mask_token_id": 256, "markov_rank": 32,
      "speculators_model_type": "dspark", "sample_from_anchor": true, "target_hidden_size": null})");
  json["transformer_layer_config"] = layer;
  return json;
}

// An oracle case, as in cases/drafter.
inline Json OracleCase(const std::string& patch = "{}") {
  Json json = Flat();
  for (const char* key : {"architectures", "model_type", "rope_theta"}) json.erase(key);
  return With(With(json, R"({"kind": "dflash", "steps": []})"), patch);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_DRAFTER_TESTING_H_
