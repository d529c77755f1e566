// The rules of spec/model_config.md section 7 and spec/drafter.md sections 1, 2 and 4, one by one.
#include <string>

#include "src/base/status_matchers.h"
#include "src/config/drafter_config.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json With(const Json& base, const std::string& patch) {
  Json json = base;
  json.merge_patch(Json::parse(patch));  // null removes a member
  return json;
}

StatusOr<DrafterConfig> Read(const Json& json) { return ParseDrafterConfig(json, "x.json"); }

#define EXPECT_ERROR(json, code, ...) \
  EXPECT_THAT(Read(json), StatusIs(StatusCode::code, AllOf(HasSubstr("x.json"), __VA_ARGS__)))

Json Flat() {
  return Json::parse(R"({"architectures": ["DFlashDraftModel"], "model_type": "qwen3",
      "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "vocab_size": 257,
      "block_size": 8, "num_target_layers": 4, "rope_theta": 10000, "rms_norm_eps": 1e-6,
      "dflash_config": {"target_layer_ids": [0, 2], "mask_token_id": 256}})");
}

Json Sliding(const std::string& patch = "{}") {
  return With(With(Flat(), R"({"layer_types": ["sliding_attention", "full_attention"],
                               "sliding_window": 24})"),
              patch);
}

Json Dspark() {
  return With(Flat(), R"({"architectures": ["DSparkDraftModel"],
      "dflash_config": {"markov_rank": 32, "markov_head_type": "vanilla"}})");
}

Json Dflash2() {
  return With(Flat(), R"({"architectures": ["DFlash2DraftModel"], "dflash_config":
      {"conv_kernel_size": 2, "conv_group_size": 16, "selector_rank": 32, "selector_top_k": 16}})");
}

Json Speculators() {
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
Json OracleCase(const std::string& patch = "{}") {
  Json json = Flat();
  for (const char* key : {"architectures", "model_type", "rope_theta"}) json.erase(key);
  return With(With(json, R"({"kind": "dflash", "steps": []})"), patch);
}

TEST(DrafterRulesTest, TheBasesAreFine) {
  for (const Json& json : {Flat(), Sliding(), Dspark(), Dflash2(), Speculators(), OracleCase()}) {
    EXPECT_THAT(Read(json), IsOk()) << json.dump();
    EXPECT_TRUE(IsDrafterConfig(json)) << json.dump();
  }
}

// A geometry that we printed can be read again.
TEST(DrafterRulesTest, GeometryReadsBack) {
  for (const Json& json : {Flat(), Sliding(), Dspark(), Dflash2(), Speculators()}) {
    const std::string geometry = GeometryToJson(Read(json).value()).dump();
    Json again = Json::parse(geometry);
    DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig config, Read(again));
    Json printed = Json::parse(GeometryToJson(config).dump());
    // The file's own spelling of the taps is gone.
    printed["target_layer_ids_as_written"] = again["target_layer_ids_as_written"];
    EXPECT_EQ(printed, again);
  }
}

TEST(DrafterRulesTest, KindAndConvention) {
  const auto kind = [](const Json& json) { return Read(json)->kind; };
  const auto convention = [](const Json& json) { return Read(json)->row_convention; };
  EXPECT_EQ(kind(Flat()), DrafterKind::kDflash);
  EXPECT_EQ(convention(Flat()), RowConvention::kInPlace);
  EXPECT_EQ(Read(Flat())->drafts(8), 7u);
  // Each of these alone says DSpark, and B.
  for (const char* patch : {R"({"architectures": ["DSparkDraftModel"]})",
                            R"({"dflash_config": {"projector_type": "dspark"}})",
                            R"({"speculators_model_type": "dspark"})",
                            R"({"dflash_config": {"markov_rank": 4}})", R"({"markov_rank": 4})"}) {
    EXPECT_EQ(kind(With(Flat(), patch)), DrafterKind::kDspark) << patch;
    EXPECT_EQ(convention(With(Flat(), patch)), RowConvention::kAnchorFirst) << patch;
  }
  EXPECT_EQ(Read(Dspark())->drafts(8), 8u);
  // DeepSpec's block-7 DFlash: told by the flag (or by the catalogue's entry).
  const Json told = With(Flat(), R"({"sample_from_anchor": true})");
  EXPECT_EQ(kind(told), DrafterKind::kDflash);
  EXPECT_EQ(convention(told), RowConvention::kAnchorFirst);
  EXPECT_TRUE(Read(told)->sample_from_anchor);
  EXPECT_ERROR(With(Dspark(), R"({"sample_from_anchor": false})"), kInvalidArgument,
               HasSubstr("sample_from_anchor is false"));
  EXPECT_EQ(kind(Dflash2()), DrafterKind::kDflash2);
  EXPECT_EQ(kind(With(Dflash2(), R"({"architectures": ["DFlashDraftModel"]})")),
            DrafterKind::kDflash2);
  // In a case the kind decides.
  EXPECT_EQ(convention(OracleCase(R"({"kind": "dspark", "sample_from_anchor": false})")),
            RowConvention::kAnchorFirst);
  EXPECT_EQ(convention(OracleCase(R"({"sample_from_anchor": true})")), RowConvention::kInPlace);
}

TEST(DrafterRulesTest, BlockSize) {
  EXPECT_EQ(Read(With(Flat(), R"({"block_size": null, "dflash_config": {"block_size": 16}})"))
                ->block_size,
            16u);
  EXPECT_ERROR(With(Flat(), R"({"dflash_config": {"block_size": 16}})"), kInvalidArgument,
               AllOf(HasSubstr("dflash_config.block_size is 16"), HasSubstr("block_size is 8")));
  EXPECT_ERROR(With(Flat(), R"({"block_size": 1})"), kInvalidArgument, HasSubstr("block_size"));
  EXPECT_THAT(Read(With(Dspark(), R"({"block_size": 1})")), IsOk());
  EXPECT_ERROR(With(Dspark(), R"({"block_size": 0})"), kInvalidArgument, HasSubstr("block_size"));
}

TEST(DrafterRulesTest, Taps) {
  const Json none = With(Flat(), R"({"dflash_config": {"target_layer_ids": null}})");
  // Never derived from num_target_layers.
  EXPECT_ERROR(none, kNotFound, HasSubstr("target_layer_ids"));
  EXPECT_THAT(Read(With(none, R"({"target_layer_ids": [3, 1]})"))->target_layer_ids,
              ElementsAre(3, 1));
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig shifted, Read(Speculators()));
  EXPECT_THAT(shifted.target_layer_ids, ElementsAre(0, 2));
  EXPECT_THAT(shifted.target_layer_ids_as_written, ElementsAre(1, 3));
  EXPECT_EQ(shifted.target_hidden_size, 64u);
  EXPECT_EQ(Read(With(Speculators(), R"({"target_hidden_size": 48})"))->tap_width(), 96u);
  EXPECT_THAT(Read(With(Speculators(), R"({"target_layer_ids": [0, 2]})")), IsOk());
  EXPECT_ERROR(With(Speculators(), R"({"target_layer_ids": [1, 3]})"), kInvalidArgument,
               HasSubstr("aux_hidden_state_layer_ids"));
  // -1 is the embedding; hidden state 0 is the same.
  EXPECT_THAT(Read(With(none, R"({"target_layer_ids": [-1, 3]})")), IsOk());
  EXPECT_THAT(Read(With(Speculators(), R"({"aux_hidden_state_layer_ids": [0]})"))->target_layer_ids,
              ElementsAre(-1));
  for (const char* ids : {"[-2]", "[0, 4]", "[]", "[9223372036854775807]"}) {
    EXPECT_ERROR(With(none, std::string(R"({"target_layer_ids": )") + ids + "}"), kInvalidArgument,
                 HasSubstr("target_layer_ids"));
  }
  EXPECT_ERROR(With(none, R"({"target_layer_ids": [1.5]})"), kInvalidArgument,
               HasSubstr("target_layer_ids[0]"));
  for (const char* ids : {"[-1]", "[-9223372036854775808]"}) {
    EXPECT_ERROR(With(Speculators(), std::string(R"({"aux_hidden_state_layer_ids": )") + ids + "}"),
                 kInvalidArgument, HasSubstr("aux_hidden_state_layer_ids[0]"));
  }
}

TEST(DrafterRulesTest, Causality) {
  const auto causal = [](const Json& json) { return Read(json)->layer_causal; };
  EXPECT_THAT(causal(Flat()), ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding()), ElementsAre(true, false));  // no key: by layer type
  EXPECT_THAT(causal(Sliding(R"({"is_causal": false})")), ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding(R"({"is_causal": true})")), ElementsAre(true, true));
  EXPECT_THAT(causal(Sliding(R"({"dflash_config": {"causal": false}})")),
              ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding(R"({"is_causal": true, "dflash_config": {"causal": false}})")),
              ElementsAre(true, true));
  EXPECT_THAT(causal(Sliding(R"({"sliding_window_non_causal": true})")), ElementsAre(false, false));
  EXPECT_THAT(causal(Sliding(R"({"sliding_window_non_causal": false})")), ElementsAre(true, false));
  const Json sliding_case = OracleCase(R"({"sliding_window": 24,
      "layer_types": ["sliding_attention", "full_attention"]})");
  EXPECT_THAT(causal(With(sliding_case, R"({"causal_sliding": true})")), ElementsAre(true, false));
  EXPECT_THAT(causal(With(sliding_case, R"({"causal_sliding": false})")),
              ElementsAre(false, false));
  EXPECT_EQ(Read(With(sliding_case, R"({"causal_sliding": false})"))->is_causal, std::nullopt);
}

TEST(DrafterRulesTest, WindowAndLayerTypes) {
  EXPECT_EQ(Read(Sliding())->sliding_window, 24u);
  // A number without a sliding layer means nothing.
  EXPECT_EQ(Read(With(Flat(), R"({"sliding_window": 4096, "use_sliding_window": false})"))
                ->sliding_window,
            std::nullopt);
  EXPECT_EQ(Read(With(Flat(), R"({"sliding_window": 4096})"))->sliding_window, std::nullopt);
  EXPECT_ERROR(Sliding(R"({"use_sliding_window": false})"), kInvalidArgument,
               HasSubstr("use_sliding_window"));
  EXPECT_ERROR(Sliding(R"({"sliding_window": null})"), kNotFound, HasSubstr("sliding_window"));
  EXPECT_ERROR(Sliding(R"({"sliding_window": 0})"), kInvalidArgument, HasSubstr("sliding_window"));
  EXPECT_ERROR(Sliding(R"({"layer_types": ["sliding_attention"]})"), kInvalidArgument,
               HasSubstr("layer_types"));
  EXPECT_ERROR(Sliding(R"({"layer_types": ["linear_attention", "full_attention"]})"),
               kUnimplemented, HasSubstr("layer_types[0]"));
  // No layer types are filled in for a hostile count.
  EXPECT_ERROR(With(Flat(), R"({"num_hidden_layers": 1000000000000})"), kInvalidArgument,
               HasSubstr("num_hidden_layers"));
}

TEST(DrafterRulesTest, RopePlaces) {
  const Json bare = With(Flat(), R"({"rope_theta": null})");
  EXPECT_ERROR(bare, kNotFound, HasSubstr("rope_theta"));
  EXPECT_EQ(Read(OracleCase())->rope.theta, 1e6);  // only cases have a default
  EXPECT_EQ(Read(With(bare, R"({"rope_parameters": {"rope_theta": 5e5}})"))->rope.theta, 5e5);
  EXPECT_ERROR(
      With(Flat(), R"({"rope_parameters": {"rope_theta": 5e5}})"), kInvalidArgument,
      AllOf(HasSubstr("rope_parameters.rope_theta is 500000.0"), HasSubstr("rope_theta is 10000")));
  EXPECT_THAT(Read(With(Flat(), R"({"rope_parameters": {"rope_theta": 10000.0}})")), IsOk());
  for (const char* theta : {"0", "1", "-10000", "\"x\""}) {
    EXPECT_ERROR(With(Flat(), std::string(R"({"rope_theta": )") + theta + "}"), kInvalidArgument,
                 HasSubstr("rope_theta"));
  }
  EXPECT_ERROR(With(Flat(), R"({"rope_scaling": {"rope_type": "llama3"}})"), kUnimplemented,
               HasSubstr("llama3"));
  EXPECT_ERROR(With(Flat(), R"({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}})"),
               kUnimplemented, HasSubstr("rope_parameters.full_attention"));
  EXPECT_ERROR(With(Flat(), R"({"rope_parameters": {"rope_type": "default"},
                                "rope_scaling": {"type": "yarn"}})"),
               kInvalidArgument, AllOf(HasSubstr("rope_type"), HasSubstr("type is \"yarn\"")));
}

TEST(DrafterRulesTest, PartialRotary) {
  EXPECT_EQ(Read(With(Flat(), R"({"partial_rotary_factor": 0.5})"))->rope.partial_rotary_factor,
            0.5);
  EXPECT_EQ(Read(With(Flat(), R"({"rope_scaling": {"rope_type": "default",
                                  "partial_rotary_factor": 0.25}})"))
                ->rope.partial_rotary_factor,
            0.25);
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig proportional,
                          Read(With(Flat(), R"({"rope_parameters": {"rope_type": "proportional",
                                                "partial_rotary_factor": 0.25}})")));
  EXPECT_EQ(proportional.rope.pairing, RopePairing::kHalfOfHead);
  EXPECT_EQ(Read(Flat())->rope.pairing, RopePairing::kHalfOfRotary);
  EXPECT_EQ(Read(With(Flat(), R"({"rope_pairing": "half_of_head"})"))->rope.pairing,
            RopePairing::kHalfOfHead);
  EXPECT_ERROR(With(Flat(), R"({"rope_pairing": "interleaved"})"), kInvalidArgument,
               HasSubstr("rope_pairing"));
  // 16 * factor must be even and between 2 and 16.
  for (const char* factor : {"0.3", "0.0625", "0", "-0.5", "1.5"}) {
    EXPECT_ERROR(With(Flat(), std::string(R"({"partial_rotary_factor": )") + factor + "}"),
                 kInvalidArgument, HasSubstr("partial_rotary_factor"));
  }
  EXPECT_ERROR(With(Flat(), R"({"head_dim": 15})"), kInvalidArgument, HasSubstr("head_dim"));
}

TEST(DrafterRulesTest, Yarn) {
  const Json yarn = With(Flat(), R"({"rope_scaling": {"type": "yarn", "factor": 32.0,
      "original_max_position_embeddings": 4096}})");
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig plain, Read(yarn));
  EXPECT_EQ(plain.rope.type, "yarn");
  EXPECT_EQ(plain.rope.factor, 32);
  EXPECT_EQ(plain.rope.original_max_position_embeddings, 4096);
  EXPECT_EQ(plain.rope.beta_fast, 32);
  EXPECT_EQ(plain.rope.beta_slow, 1);
  EXPECT_TRUE(plain.rope.truncate);
  EXPECT_EQ(plain.rope.attention_factor, std::nullopt);
  DM_ASSERT_OK_AND_ASSIGN(
      const DrafterConfig full,
      Read(With(yarn, R"({"rope_scaling": {"beta_fast": 16, "beta_slow": 2, "mscale": 1.0,
          "mscale_all_dim": 0.5, "attention_factor": 1.25, "truncate": false}})")));
  EXPECT_EQ(full.rope.beta_fast, 16);
  EXPECT_EQ(full.rope.beta_slow, 2);
  EXPECT_EQ(full.rope.mscale, 1.0);
  EXPECT_EQ(full.rope.mscale_all_dim, 0.5);
  EXPECT_EQ(full.rope.attention_factor, 1.25);
  EXPECT_FALSE(full.rope.truncate);
  const struct {
    const char* patch;
    StatusCode code;
    const char* key;
  } errors[] = {
      {R"({"factor": null})", StatusCode::kNotFound, "factor"},
      {R"({"factor": 0.5})", StatusCode::kInvalidArgument, "factor"},
      {R"({"original_max_position_embeddings": null})", StatusCode::kNotFound, "original_max"},
      {R"({"original_max_position_embeddings": 0})", StatusCode::kInvalidArgument, "original_max"},
      {R"({"beta_slow": 0})", StatusCode::kInvalidArgument, "beta_slow"},
      {R"({"beta_fast": 0.5})", StatusCode::kInvalidArgument, "beta_fast"},
      {R"({"attention_factor": 0})", StatusCode::kInvalidArgument, "attention_factor"},
      {R"({"mscale": -1})", StatusCode::kInvalidArgument, "mscale"},
      {R"({"attn_factor": 2})", StatusCode::kUnimplemented, "attn_factor"},
  };
  for (const auto& [patch, code, key] : errors) {
    EXPECT_THAT(Read(With(yarn, std::string(R"({"rope_scaling": )") + patch + "}")),
                StatusIs(code, HasSubstr(key)));
  }
}

TEST(DrafterRulesTest, Heads) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig dspark, Read(Dspark()));
  EXPECT_TRUE(dspark.confidence_head);  // absent keys count as true in DSpark
  EXPECT_TRUE(dspark.confidence_head_with_markov);
  EXPECT_FALSE(Read(Flat())->confidence_head);
  EXPECT_FALSE(Read(With(Dspark(), R"({"dflash_config": {"confidence_head_with_markov": false}})"))
                   ->confidence_head_with_markov);
  DM_ASSERT_OK_AND_ASSIGN(
      const DrafterConfig no_heads,
      Read(OracleCase(R"({"kind": "dspark", "markov_rank": 0, "enable_confidence_head": false})")));
  EXPECT_FALSE(no_heads.confidence_head);
  EXPECT_FALSE(no_heads.confidence_head_with_markov);
  EXPECT_ERROR(With(Flat(), R"({"dflash_config": {"enable_confidence_head": true,
                                "confidence_head_with_markov": true}})"),
               kInvalidArgument, HasSubstr("confidence_head_with_markov"));
  EXPECT_ERROR(With(Dspark(), R"({"dflash_config": {"markov_head_type": "lstm"}})"), kUnimplemented,
               HasSubstr("markov_head_type"));
  for (const char* key :
       {"conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"}) {
    Json json = Dflash2();
    json["dflash_config"].erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(std::string("dflash_config.") + key));
  }
  EXPECT_ERROR(With(Dflash2(), R"({"dflash_config": {"conv_group_size": 24}})"), kInvalidArgument,
               HasSubstr("conv_group_size"));
  EXPECT_ERROR(With(Dflash2(), R"({"dflash_config": {"selector_top_k": 258}})"), kInvalidArgument,
               HasSubstr("selector_top_k"));
  EXPECT_ERROR(With(Dflash2(), R"({"sample_from_anchor": true})"), kUnimplemented,
               HasSubstr("sample_from_anchor"));
  EXPECT_ERROR(With(Dflash2(), R"({"markov_rank": 4})"), kUnimplemented, HasSubstr("markov_rank"));
}

TEST(DrafterRulesTest, Logits) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterConfig config,
                          Read(With(Flat(), R"({"dflash_config": {"output_multiplier": 0.75,
          "final_logit_softcapping": 15.0, "input_embedding_scale": 16.0}})")));
  EXPECT_EQ(config.output_multiplier, 0.75);
  EXPECT_EQ(config.final_logit_softcapping, 15.0);
  EXPECT_EQ(config.input_embedding_scale, 16.0);
  EXPECT_ERROR(With(Flat(), R"({"final_logit_softcapping": 0})"), kInvalidArgument,
               HasSubstr("final_logit_softcapping"));
  EXPECT_ERROR(With(Flat(), R"({"output_multiplier": 0})"), kInvalidArgument,
               HasSubstr("output_multiplier"));
}

TEST(DrafterRulesTest, OtherArchitecturesAreRefusedByName) {
  for (const char* patch :
       {R"({"dflash_config": {"projector_type": "domino"}})", R"({"gru_hidden_dim": 1024})",
        R"({"architectures": ["Gemma4DSparkModel"]})", R"({"model_type": "laguna"})",
        R"({"attention_k_eq_v": true})", R"({"sandwich_norms": true})",
        R"({"attn_output_gate": true})", R"({"gating": "per-head"})",
        R"({"add_swa_attention_sink_bias": true})", R"({"num_experts": 8})",
        R"({"kv_lora_rank": 512})", R"({"dflash_config": {"attention_mode": "mla"}})",
        R"({"hidden_act": "gelu"})", R"({"mlp_bias": true})",
        R"({"speculators_model_type": "eagle3"})",
        R"({"dflash_config": {"projector_type": "other"}})"}) {
    // The innermost key of the patch.
    Json inner = Json::parse(patch);
    std::string key;
    for (bool nested = true; nested; inner = Json(inner.begin().value())) {
      key += (key.empty() ? "" : ".") + inner.begin().key();
      nested = inner.begin().value().is_object();
    }
    EXPECT_ERROR(With(Flat(), patch), kUnimplemented, HasSubstr(key + ":"));
  }
  EXPECT_ERROR(With(Speculators(), R"({"transformer_layer_config": {"hidden_act": "gelu"}})"),
               kUnimplemented, HasSubstr("hidden_act"));
  EXPECT_THAT(Read(With(Flat(), R"({"attention_k_eq_v": false, "hidden_act": "silu",
                                    "num_experts": 0, "gating": "none"})")),
              IsOk());
}

TEST(DrafterRulesTest, RangesAndProducts) {
  EXPECT_ERROR(With(Flat(), R"({"num_key_value_heads": 3})"), kInvalidArgument,
               HasSubstr("num_key_value_heads: expected a divisor"));
  EXPECT_ERROR(With(Flat(), R"({"dflash_config": {"mask_token_id": 257}})"), kInvalidArgument,
               HasSubstr("mask_token_id"));
  for (const char* eps : {"0", "-1e-6", "1.5", "\"x\""}) {
    EXPECT_ERROR(With(Flat(), std::string(R"({"rms_norm_eps": )") + eps + "}"), kInvalidArgument,
                 HasSubstr("rms_norm_eps"));
  }
  EXPECT_ERROR(With(Flat(), R"({"target_hidden_size": 0})"), kInvalidArgument,
               HasSubstr("target_hidden_size"));
  const struct {
    const char* patch;
    const char* name;
  } overflows[] = {
      {R"({"head_dim": 9223372036854775806})", "num_attention_heads * head_dim"},
      {R"({"vocab_size": 18446744073709551615})", "vocab_size * hidden_size"},
      {R"({"block_size": 18446744073709551615})", "block_size * vocab_size"},
      {R"({"intermediate_size": 1000000000000000000})", "block_size * intermediate_size"},
      {R"({"target_hidden_size": 9000000000000000000})", "target_hidden_size"},
  };
  for (const auto& [patch, name] : overflows) {
    EXPECT_ERROR(With(Flat(), patch), kOutOfRange, HasSubstr(name));
  }
  EXPECT_ERROR(With(Dspark(), R"({"dflash_config": {"markov_rank": 18446744073709551615}})"),
               kOutOfRange, HasSubstr("parameters"));
}

TEST(DrafterRulesTest, NonfiniteNumbers) {
  JsonParseOptions options;
  options.allow_nonfinite = true;
  for (const std::string value : {"NaN", "Infinity", "-Infinity"}) {
    for (const std::string key : {"rms_norm_eps", "rope_theta", "hidden_size", "block_size"}) {
      Json json = Flat();
      json[key] = "@";
      std::string text = json.dump();
      text.replace(text.find("\"@\""), 3, value);
      DM_ASSERT_OK_AND_ASSIGN(const Json parsed, ParseJson(text, "x.json", options));
      EXPECT_ERROR(parsed, kInvalidArgument, HasSubstr(key), HasSubstr("found " + value));
    }
  }
}

TEST(DrafterRulesTest, EntriesAgreeWithWhatTheyRecord) {
  Json entry = Json::parse(GeometryToJson(Read(Flat()).value()).dump());
  entry["name"] = "mine";
  entry["kind"] = "synthetic";
  entry["weights_params_computed"] = CountDrafterParameters(Read(Flat()).value());
  EXPECT_THAT(Read(entry), IsOk());
  for (const char* patch :
       {R"({"gqa_ratio": 3})", R"({"draft_tokens_per_block": 8})", R"({"num_target_taps": 3})",
        R"({"weights_params_computed": 1})", R"({"sample_from_anchor": true})",
        R"({"row_convention": "C"})", R"({"kind": "rumour"})"}) {
    EXPECT_ERROR(With(entry, patch), kInvalidArgument, HasSubstr(Json::parse(patch).begin().key()));
  }
  Json twice;
  twice["configs"] = {entry, entry};
  EXPECT_THAT(ParseDrafterConfig(twice, "x.json", "mine"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("twice")));
  twice["configs"] = {entry};
  EXPECT_THAT(Read(twice), IsOk());  // a collection of one
}

}  // namespace
}  // namespace draftmark
