// The rules of spec/model_config.md section 7 and spec/drafter.md section 1, one by one; rotary
// embedding, attention and heads have tests of their own.
#include <string>

#include "src/config/drafter_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// No tensor's shape shows one: a config that has it loads without an error, and drafts otherwise.
TEST(DrafterRulesTest, FactorsThatNoForwardHasAreRefusedByName) {
  const struct {
    const char* key;
    const char* rule;
    const char* off;  // "" if any value is a rule
  } factors[] = {
      {"embedding_multiplier", "12", "1"},     {"residual_multiplier", "0.22", "1.0"},
      {"attention_multiplier", "0.0625", ""},  {"attention_scale", "1.0", ""},
      {"attn_logit_softcapping", "50.0", "0"}, {"logits_scaling", "8", "1"},
  };
  for (const auto& [key, rule, off] : factors) {
    const auto patch = [&](const char* value) {
      return std::string("{\"") + key + "\": " + value + "}";
    };
    EXPECT_ERROR(With(Flat(), patch(rule)), kUnimplemented, HasSubstr(std::string(key) + ":"));
    EXPECT_ERROR(With(Flat(), "{\"dflash_config\": " + patch(rule) + "}"), kUnimplemented,
                 HasSubstr(std::string("dflash_config.") + key + ":"));
    EXPECT_ERROR(With(Speculators(), "{\"transformer_layer_config\": " + patch(rule) + "}"),
                 kUnimplemented, HasSubstr(std::string("transformer_layer_config.") + key + ":"));
    Json null = Flat();
    null[key] = nullptr;
    EXPECT_THAT(Read(null), IsOk());
    if (*off != 0) {
      EXPECT_THAT(Read(With(Flat(), patch(off))), IsOk());
    }
    EXPECT_ERROR(With(Flat(), patch("\"x\"")), kInvalidArgument, HasSubstr(key));
  }
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
  // Nor is one a name in a list, or quoted as anything but itself.
  Json json = Flat();
  json["architectures"] = {"@"};
  std::string text = json.dump();
  text.replace(text.find("\"@\""), 3, "NaN");
  DM_ASSERT_OK_AND_ASSIGN(const Json parsed, ParseJson(text, "x.json", options));
  EXPECT_ERROR(parsed, kInvalidArgument, HasSubstr("architectures[0]"), HasSubstr("found NaN"));
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
  twice["configs"] = Json::array({entry});  // {entry} is entry itself to clang
  EXPECT_THAT(Read(twice), IsOk());         // a collection of one
}

// What a message quotes of a file is on the message's own line.
TEST(DrafterRulesTest, NamesOfTwoLinesAreQuotedInOne) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {R"({"layer_types": ["full\nattention", "full_attention"]})", R"("full\nattention")"},
      {R"({"hidden_act": "si\nlu"})", R"("si\nlu")"},
      {R"({"rope_pairing": "half\nof"})", R"("half\nof")"},
      {R"({"rope_scaling": {"rope_type": "ya\nrn"}})", R"("ya\nrn")"},
      {R"({"architectures": ["gemma\n"]})", R"(gemma\n)"}};
  for (const auto& [patch, quoted] : all) {
    const Status status = Read(With(Sliding(), patch.c_str())).status();
    EXPECT_FALSE(status.ok()) << patch;
    EXPECT_THAT(status.message(), HasSubstr(quoted)) << patch;
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  }
  EXPECT_ERROR(Json::parse(R"({"row_convention": "in_place", "kind": "checkpoint_other_arch",
                               "note": "its layers\nare others"})"),
               kUnimplemented, HasSubstr(R"(its layers\nare others)"));
}

}  // namespace
}  // namespace draftmark
