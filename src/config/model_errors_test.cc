// Where others guess, we refuse: each row of spec/model_config.md section 5 and each rule of
// section 1 has a test that fails if the value were guessed.
#include <string>

#include "src/base/status_matchers.h"
#include "src/config/model_config.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Json Parse(const std::string& text) { return Json::parse(text); }

// `base` with the members of `patch` put in; null removes one (RFC 7386).
Json With(const Json& base, const std::string& patch) {
  Json json = base;
  json.merge_patch(Parse(patch));
  return json;
}

StatusOr<ModelConfig> Read(const Json& json) { return ParseModelConfig(json, "x.json"); }

#define EXPECT_ERROR(json, code, ...) \
  EXPECT_THAT(Read(json), StatusIs(StatusCode::code, AllOf(HasSubstr("x.json"), __VA_ARGS__)))

Json Qwen3() {
  return Parse(R"({"model_type": "qwen3", "hidden_size": 1024, "vocab_size": 1000,
      "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128,
      "intermediate_size": 3072})");
}

Json Qwen3Moe() {
  return With(Qwen3(), R"({"model_type": "qwen3_moe", "num_experts": 64, "num_experts_per_tok": 8,
      "moe_intermediate_size": 768})");
}

Json DeepseekV3() {
  return With(Qwen3Moe(), R"({"model_type": "deepseek_v3", "head_dim": null, "kv_lora_rank": 512,
      "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128})");
}

Json DeepseekV4() {
  return With(Qwen3Moe(), R"({"model_type": "deepseek_v4", "head_dim": 512, "q_lora_rank": 1024,
      "num_key_value_heads": 1, "qk_rope_head_dim": 64, "o_lora_rank": 1024, "o_groups": 8,
      "hc_mult": 4, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512,
      "compress_ratios": [0, 4]})");
}

Json Nemotron() {
  return With(Qwen3(), R"({"model_type": "nemotron_h", "mamba_num_heads": 64, "mamba_head_dim": 64,
      "ssm_state_size": 128, "n_groups": 8, "hybrid_override_pattern": "ME*",
      "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
      "moe_shared_expert_intermediate_size": 3712, "n_shared_experts": 1})");
}

Json Nested(const std::string& family, const Json& text) {
  Json json;
  json["model_type"] = family;
  json["text_config"] = text;
  return json;
}

Json GemmaText() { return With(Qwen3(), R"({"global_head_dim": 512, "num_hidden_layers": 30})"); }

Json StepText() {
  return Parse(R"({"hidden_size": 1024, "vocab_size": 1000, "num_attention_heads": 16,
      "num_attention_groups": 8, "head_dim": 128, "intermediate_size": 11264,
      "moe_num_experts": 288, "moe_top_k": 8, "moe_intermediate_size": 1280,
      "share_expert_dim": 1280})");
}

Json FlashText() {
  return With(Qwen3Moe(), R"({"shared_expert_intermediate_size": 640, "hc_count": 4,
      "hc_lowrank": 320, "indexer_n_heads": 4, "indexer_head_dim": 128, "indexer_budget": 2048,
      "indexer_compress_ratio": 4})");
}

TEST(ModelErrorsTest, TheBasesAreFine) {
  for (const Json& json :
       {Qwen3(), Qwen3Moe(), DeepseekV3(), DeepseekV4(), Nemotron(), Nested("gemma4", GemmaText()),
        Nested("step3p7", StepText()), Nested("qwen4_exp", FlashText())}) {
    EXPECT_THAT(Read(json), IsOk()) << json.dump();
  }
}

TEST(ModelErrorsTest, UnknownFamily) {
  EXPECT_ERROR(With(Qwen3(), R"({"model_type": "qwen9"})"), kUnimplemented,
               HasSubstr("unsupported model_type \"qwen9\""));
  // The inner type and the tensors do not decide.
  EXPECT_ERROR(Nested("qwen9", Qwen3()), kUnimplemented, HasSubstr("qwen9"));
  EXPECT_ERROR(With(Qwen3(), R"({"model_type": null, "rms_norm_eps": 1e-6})"), kNotFound,
               HasSubstr("model_type"));
  EXPECT_ERROR(
      With(Qwen3(), R"({"model_type": "", "architectures": ["What", "Qwen3ForCausalLM"]})"),
      kUnimplemented, HasSubstr("unsupported architectures \"What\""));
  EXPECT_ERROR(With(Qwen3(), R"({"model_type": null, "architectures": []})"), kInvalidArgument,
               HasSubstr("architectures"));
  EXPECT_ERROR(With(Qwen3(), R"({"model_type": 3})"), kInvalidArgument, HasSubstr("model_type"));
  EXPECT_ERROR(Parse("[]"), kDataLoss, HasSubstr("object"));
  EXPECT_ERROR(Parse("{}"), kNotFound, HasSubstr("model_type"));
  EXPECT_ERROR(With(Qwen3(), R"({"dflash_config": {}})"), kInvalidArgument, HasSubstr("drafter"));
}

TEST(ModelErrorsTest, TextObjectRequired) {
  for (const char* family : {"gemma4", "step3p7", "qwen4_exp"}) {
    Json flat = FlashText();
    flat["model_type"] = family;
    EXPECT_ERROR(flat, kNotFound, HasSubstr("text_config"));
  }
  EXPECT_ERROR(Parse(R"({"model_type": "qwen3_vl", "text_config": "no"})"), kInvalidArgument,
               HasSubstr("text_config: expected an object"));
}

TEST(ModelErrorsTest, MissingOrZeroDimensions) {
  for (const char* key :
       {"hidden_size", "vocab_size", "num_attention_heads", "head_dim", "intermediate_size"}) {
    Json json = Qwen3();
    json.erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(key));
    json[key] = 0;
    EXPECT_ERROR(json, kInvalidArgument, HasSubstr(key));
    json[key] = nullptr;  // the same as absent
    EXPECT_ERROR(json, kNotFound, HasSubstr(key));
  }
  EXPECT_ERROR(With(Qwen3(), R"({"num_key_value_heads": 0})"), kInvalidArgument,
               HasSubstr("num_key_value_heads"));
  EXPECT_ERROR(With(Qwen3(), R"({"num_attention_heads": []})"), kInvalidArgument,
               HasSubstr("num_attention_heads"));
}

TEST(ModelErrorsTest, NumbersOutOfRange) {
  for (const char* value : {"-1", "1.5", "\"8\"", "true", "18446744073709551616", "1e400"}) {
    const std::string text =
        R"({"model_type": "qwen3", "hidden_size": )" + std::string(value) + "}";
    const StatusOr<Json> json = ParseJson(text, "x.json");
    if (!json.ok()) continue;  // 1e400 is no double
    EXPECT_ERROR(*json, kInvalidArgument, HasSubstr("hidden_size"));
  }
  JsonParseOptions options;
  options.allow_nonfinite = true;
  for (const char* value : {"NaN", "Infinity", "-Infinity"}) {
    const std::string text =
        R"({"model_type": "qwen3", "hidden_size": 8, "vocab_size": )" + std::string(value) + "}";
    DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, "x.json", options));
    EXPECT_ERROR(json, kInvalidArgument,
                 HasSubstr(std::string("vocab_size: expected an unsigned "
                                       "64-bit integer, found ") +
                           value));
  }
}

TEST(ModelErrorsTest, HeadDim) {
  // 1000 / 16 is no whole number; upstream leaves 0.
  const Json llama = With(Qwen3(), R"({"model_type": "llama", "head_dim": null})");
  EXPECT_EQ(Read(llama)->fields.head_dim, 64u);
  EXPECT_ERROR(With(llama, R"({"hidden_size": 1000})"), kNotFound, HasSubstr("head_dim"));
  EXPECT_ERROR(With(Qwen3(), R"({"attention_head_dim": 64})"), kInvalidArgument,
               AllOf(HasSubstr("head_dim is 128"), HasSubstr("attention_head_dim is 64")));
  EXPECT_EQ(Read(With(Qwen3(), R"({"head_dim": 0, "attention_head_dim": 64})"))->fields.head_dim,
            64u);
}

TEST(ModelErrorsTest, ConflictingSpellings) {
  const struct {
    const char* patch;
    const char* first;
    const char* second;
  } conflicts[] = {
      {R"({"num_attention_groups": 2})", "num_key_value_heads is 4", "num_attention_groups is 2"},
      {R"({"n_routed_experts": 8})", "num_experts is 64", "n_routed_experts is 8"},
      {R"({"experts_per_token": 4})", "num_experts_per_tok is 8", "experts_per_token is 4"},
      {R"({"expert_ffn_hidden_size": 4})", "moe_intermediate_size is 768",
       "expert_ffn_hidden_size is 4"},
      {R"({"ffn_hidden_size": 4})", "intermediate_size is 3072", "ffn_hidden_size is 4"},
      {R"({"moe_latent_size": 4, "routed_expert_hidden_size": 5})", "moe_latent_size is 4",
       "routed_expert_hidden_size is 5"},
      {R"({"n_groups": 4, "mamba_n_groups": 5})", "n_groups is 4", "mamba_n_groups is 5"},
      {R"({"num_experts_per_tok": 8, "moe_topk": "8"})", "num_experts_per_tok is 8", "moe_topk"},
  };
  for (const auto& [patch, first, second] : conflicts) {
    EXPECT_ERROR(With(Qwen3Moe(), patch), kInvalidArgument,
                 AllOf(HasSubstr(first), HasSubstr(second)));
  }
  EXPECT_THAT(Read(With(Qwen3Moe(), R"({"n_routed_experts": 64, "moe_topk": 8})")), IsOk());
  EXPECT_ERROR(With(DeepseekV3(), R"({"n_shared_experts": 1, "num_shared_experts": 2})"),
               kInvalidArgument, HasSubstr("num_shared_experts is 2"));
  // Step 3.7: the canonical name wins (section 4.7), and is the one that is read.
  const Json step = Nested("step3p7", With(StepText(), R"({"num_experts_per_tok": 4})"));
  EXPECT_EQ(Read(step)->fields.num_experts_per_tok, 4u);
}

TEST(ModelErrorsTest, Experts) {
  const auto without = [](Json json, const char* key) {
    json.erase(key);
    return json;
  };
  // Upstream: top-1, no experts, or a class default.
  EXPECT_ERROR(without(Qwen3Moe(), "num_experts"), kNotFound, HasSubstr("num_local_experts"));
  EXPECT_ERROR(without(Qwen3Moe(), "num_experts_per_tok"), kNotFound,
               HasSubstr("num_experts_per_tok"));
  EXPECT_ERROR(without(Qwen3Moe(), "moe_intermediate_size"), kNotFound,
               HasSubstr("moe_intermediate_size"));
  EXPECT_ERROR(With(Qwen3Moe(), R"({"num_experts_per_tok": 0})"), kInvalidArgument,
               HasSubstr("num_experts_per_tok"));
  EXPECT_ERROR(With(Qwen3Moe(), R"({"moe_intermediate_size": 0})"), kInvalidArgument,
               HasSubstr("moe_intermediate_size"));
  EXPECT_ERROR(With(Qwen3Moe(), R"({"num_experts_per_tok": 65})"), kInvalidArgument,
               HasSubstr("num_experts_per_tok = 65 is more than"));
  EXPECT_THAT(Read(With(Qwen3Moe(), R"({"num_experts_per_tok": 65, "zero_expert_num": 1})")),
              IsOk());
  // Without experts the key does not count.
  EXPECT_EQ(Read(With(Qwen3(), R"({"num_experts_per_tok": 9})"))->fields.num_experts_per_tok, 1u);
  EXPECT_EQ(Read(With(Qwen3Moe(), R"({"num_experts": 0})"))->fields.num_experts_per_tok, 1u);
  EXPECT_ERROR(With(without(Qwen3Moe(), "intermediate_size"), R"({"num_experts": 0})"), kNotFound,
               HasSubstr("intermediate_size"));
  // A pure mixture may lack the dense width, one with a dense layer may not.
  EXPECT_EQ(Read(without(Qwen3Moe(), "intermediate_size"))->fields.intermediate_size, 0u);
  for (const char* dense : {R"({"mlp_only_layers": [0]})", R"({"first_k_dense_replace": 1})",
                            R"({"mlp_layer_types": ["dense", "sparse"]})"}) {
    EXPECT_ERROR(With(without(Qwen3Moe(), "intermediate_size"), dense), kNotFound,
                 HasSubstr("intermediate_size"));
  }
  const Json mixtral = With(Qwen3Moe(), R"({"model_type": "mixtral", "intermediate_size": null})");
  EXPECT_ERROR(mixtral, kNotFound, HasSubstr("intermediate_size"));
  EXPECT_ERROR(With(Qwen3Moe(), R"({"moe_intermediate_size": []})"), kInvalidArgument,
               HasSubstr("moe_intermediate_size"));
  EXPECT_EQ(Read(With(Qwen3Moe(), R"({"moe_intermediate_size": [3, 9, 5]})"))
                ->fields.moe_intermediate_size,
            9u);
}

TEST(ModelErrorsTest, GatedFamilies) {
  const Json text = With(Qwen3(), R"({"linear_num_key_heads": 16, "linear_key_head_dim": 128,
      "linear_num_value_heads": 32, "linear_value_head_dim": 128})");
  EXPECT_TRUE(Read(Nested("qwen3_5", text))->fields.attn_gated);
  EXPECT_ERROR(Nested("qwen3_5", With(text, R"({"attn_output_gate": false})")), kInvalidArgument,
               HasSubstr("attn_output_gate: expected true"));
  EXPECT_ERROR(Nested("qwen3_5", With(text, R"({"linear_key_head_dim": 0})")), kInvalidArgument,
               HasSubstr("linear_key_head_dim"));
}

TEST(ModelErrorsTest, Mrope) {
  EXPECT_ERROR(With(Qwen3(), R"({"rope_parameters": []})"), kInvalidArgument,
               HasSubstr("rope_parameters"));
  EXPECT_ERROR(With(Qwen3(), R"({"rope_scaling": {"mrope_section": [1, -1]}})"), kInvalidArgument,
               HasSubstr("rope_scaling.mrope_section[1]"));
  // Looked up in both places, also where the first has no section.
  EXPECT_TRUE(Read(With(Qwen3(), R"({"rope_parameters": {"rope_theta": 1.0},
                                     "rope_scaling": {"mrope_section": [1, 0, 0]}})"))
                  ->fields.mrope_interleaved);
}

TEST(ModelErrorsTest, DeepseekV4) {
  for (const char* key :
       {"head_dim", "q_lora_rank", "qk_rope_head_dim", "o_lora_rank", "o_groups", "hc_mult",
        "index_n_heads", "index_head_dim", "index_topk", "num_key_value_heads", "num_experts",
        "num_experts_per_tok", "moe_intermediate_size"}) {
    Json json = DeepseekV4();
    json.erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(key));
  }
  EXPECT_ERROR(With(DeepseekV4(), R"({"hc_mult": 0})"), kInvalidArgument, HasSubstr("hc_mult"));
  EXPECT_ERROR(With(DeepseekV4(), R"({"o_groups": 0})"), kInvalidArgument, HasSubstr("o_groups"));
  EXPECT_ERROR(With(DeepseekV4(), R"({"o_lora_rank": 0})"), kInvalidArgument,
               HasSubstr("o_lora_rank"));
  const Json no_indexer = With(DeepseekV4(), R"({"index_n_heads": null, "index_head_dim": null,
                                                 "index_topk": null})");
  EXPECT_THAT(Read(With(no_indexer, R"({"compress_ratios": [0, 0]})")), IsOk());
  EXPECT_ERROR(With(no_indexer, R"({"compress_ratios": [0, 128]})"), kNotFound,
               HasSubstr("index_n_heads"));
  EXPECT_ERROR(With(no_indexer, R"({"compress_ratios": null})"), kNotFound,
               HasSubstr("index_n_heads"));
}

TEST(ModelErrorsTest, Mla) {
  for (const char* key : {"kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "num_experts"}) {
    Json json = DeepseekV3();
    json.erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(key));
  }
  EXPECT_ERROR(With(DeepseekV3(), R"({"kv_lora_rank": 0})"), kInvalidArgument,
               HasSubstr("kv_lora_rank"));
  EXPECT_ERROR(With(DeepseekV3(), R"({"index_topk": 2048})"), kInvalidArgument,
               HasSubstr("index_n_heads 0"));
  EXPECT_ERROR(With(DeepseekV3(), R"({"qk_head_dim": 191})"), kInvalidArgument,
               HasSubstr("qk_head_dim: expected qk_nope_head_dim + qk_rope_head_dim = 192"));
  // No divisibility in latent attention.
  EXPECT_THAT(Read(With(DeepseekV3(), R"({"num_key_value_heads": 7})")), IsOk());
  EXPECT_ERROR(With(DeepseekV3(), R"({"model_type": "longcat_flash"})"), kNotFound,
               HasSubstr("zero_expert_num"));
  const Json kimi = With(DeepseekV3(), R"({"model_type": "kimi_k3"})");
  EXPECT_ERROR(kimi, kNotFound, HasSubstr("linear_attn_config"));
  EXPECT_ERROR(With(kimi, R"({"linear_attn_config": {"num_heads": 4}})"), kNotFound,
               HasSubstr("head_dim"));
  EXPECT_ERROR(With(kimi, R"({"linear_attn_config": {"num_heads": 4, "head_dim": 0}})"),
               kInvalidArgument, HasSubstr("linear_attn_config"));
  const Json glm = With(DeepseekV3(), R"({"model_type": "glm5_next", "mhc": true,
      "linear_attn_config": {"num_heads": 4, "head_dim": 8}})");
  EXPECT_ERROR(glm, kNotFound, HasSubstr("hc_mult"));
  EXPECT_ERROR(With(glm, R"({"hc_mult": 4, "linear_num_heads": 5})"), kInvalidArgument,
               AllOf(HasSubstr("num_heads is 4"), HasSubstr("linear_num_heads is 5")));
}

TEST(ModelErrorsTest, Nemotron) {
  for (const char* key : {"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups",
                          "n_routed_experts", "moe_shared_expert_intermediate_size"}) {
    Json json = Nemotron();
    json.erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(key));
  }
  EXPECT_EQ(Read(With(Nemotron(), R"({"moe_shared_expert_intermediate_size": null,
                                      "n_shared_experts": 0})"))
                ->fields.shared_expert_intermediate_size,
            0u);
  EXPECT_ERROR(With(Nemotron(), R"({"block_configs": [{"num_experts_per_tok": "x"}]})"),
               kInvalidArgument, HasSubstr("block_configs[0]: num_experts_per_tok"));
  EXPECT_ERROR(With(Nemotron(), R"({"block_configs": [7]})"), kDataLoss,
               HasSubstr("block_configs[0]"));
  EXPECT_ERROR(With(Nemotron(), R"({"hybrid_override_pattern": 7})"), kInvalidArgument,
               HasSubstr("hybrid_override_pattern"));
}

TEST(ModelErrorsTest, Gemma) {
  const auto gemma = [](const char* patch) { return Nested("gemma4", With(GemmaText(), patch)); };
  // Without it upstream sizes half the width.
  EXPECT_ERROR(gemma(R"({"global_head_dim": null})"), kNotFound, HasSubstr("global_head_dim"));
  EXPECT_ERROR(gemma(R"({"expert_intermediate_size": 704})"), kInvalidArgument,
               HasSubstr("expert_intermediate_size"));
  EXPECT_ERROR(gemma(R"({"num_experts": 8, "moe_intermediate_size": 9})"), kNotFound,
               HasSubstr("top_k_experts"));
  EXPECT_ERROR(gemma(R"({"enable_moe_block": true})"), kNotFound, HasSubstr("num_experts"));
  EXPECT_ERROR(gemma(R"({"use_double_wide_mlp": true})"), kNotFound,
               HasSubstr("num_kv_shared_layers"));
  EXPECT_ERROR(gemma(R"({"use_double_wide_mlp": true, "num_kv_shared_layers": 31})"),
               kInvalidArgument, HasSubstr("num_kv_shared_layers"));
  EXPECT_ERROR(gemma(R"({"num_global_key_value_heads": 3})"), kInvalidArgument,
               HasSubstr("num_global_key_value_heads"));
}

TEST(ModelErrorsTest, StepGuessesNothing) {
  for (const char* key : {"moe_num_experts", "moe_top_k", "moe_intermediate_size",
                          "share_expert_dim", "num_attention_groups", "head_dim", "vocab_size",
                          "num_attention_heads", "hidden_size", "intermediate_size"}) {
    Json text = StepText();
    text.erase(key);
    EXPECT_ERROR(Nested("step3p7", text), kNotFound, HasSubstr(key));
  }
  EXPECT_ERROR(Nested("step3p7", With(StepText(), R"({"attention_other_setting":
                                                      {"num_attention_heads": 18}})")),
               kInvalidArgument, HasSubstr("num_attention_heads"));
}

TEST(ModelErrorsTest, OtherMixtures) {
  const Json minimax = With(Qwen3Moe(), R"({"model_type": "minimax_m2"})");
  EXPECT_ERROR(With(minimax, R"({"num_experts": null})"), kNotFound, HasSubstr("num_experts"));
  const Json laguna = With(Qwen3Moe(), R"({"model_type": "laguna",
      "shared_expert_intermediate_size": 9, "num_attention_heads_per_layer": [16, 24]})");
  EXPECT_EQ(Read(laguna)->fields.num_attention_heads, 24u);
  EXPECT_ERROR(With(laguna, R"({"num_attention_heads_per_layer": []})"), kInvalidArgument,
               HasSubstr("num_attention_heads_per_layer"));
  EXPECT_ERROR(With(laguna, R"({"num_attention_heads_per_layer": [16, 18, 24]})"), kInvalidArgument,
               HasSubstr("num_attention_heads_per_layer[1]"));
  EXPECT_ERROR(With(laguna, R"({"num_key_value_heads": null})"), kNotFound,
               HasSubstr("num_key_value_heads"));
  const auto flash = [](const char* patch) {
    return Nested("qwen4_exp", With(FlashText(), patch));
  };
  EXPECT_ERROR(flash(R"({"hc_lowrank": null})"), kInvalidArgument, HasSubstr("hc_lowrank"));
  EXPECT_ERROR(flash(R"({"hc_count": null})"), kInvalidArgument, HasSubstr("hc_count"));
  EXPECT_ERROR(flash(R"({"indexer_budget": null})"), kInvalidArgument, HasSubstr("indexer_budget"));
  EXPECT_ERROR(flash(R"({"indexer_compress_ratio": null})"), kNotFound,
               HasSubstr("indexer_compress_ratio"));
  EXPECT_ERROR(flash(R"({"output_gate_type": true})"), kInvalidArgument,
               HasSubstr("output_gate_type"));
}

TEST(ModelErrorsTest, OwnForms) {
  const Json params = Parse(R"({"dim": 64, "n_layers": 2, "n_heads": 4, "head_dim": 16,
      "hidden_dim": 128, "vocab_size": 100})");
  EXPECT_THAT(Read(params), IsOk());
  for (const char* key : {"n_heads", "head_dim", "hidden_dim", "vocab_size"}) {
    Json json = params;
    json.erase(key);
    EXPECT_ERROR(json, kNotFound, HasSubstr(key));
  }
  EXPECT_ERROR(With(params, R"({"moe": {"num_experts": 8, "expert_hidden_dim": 9}})"), kNotFound,
               HasSubstr("moe.num_experts_per_tok"));
  EXPECT_ERROR(With(params, R"({"moe": {"num_experts": 8, "num_experts_per_tok": 2}})"), kNotFound,
               HasSubstr("moe.expert_hidden_dim"));
  // No shared experts, no shared width: upstream takes expert_hidden_dim.
  EXPECT_EQ(Read(With(params, R"({"moe": {"num_experts": 8, "num_experts_per_tok": 2,
                                          "expert_hidden_dim": 9, "num_shared_experts": 0}})"))
                ->fields.shared_expert_intermediate_size,
            0u);
  const Json nllb = Parse(R"({"model_type": "nllb", "d_model": 64, "decoder_ffn_dim": 128,
      "decoder_attention_heads": 4, "vocab_size": 100})");
  EXPECT_EQ(Read(nllb)->fields.head_dim, 16u);
  EXPECT_ERROR(With(nllb, R"({"decoder_attention_heads": 3})"), kInvalidArgument,
               HasSubstr("decoder_attention_heads"));
  EXPECT_ERROR(With(nllb, R"({"decoder_ffn_dim": 0})"), kInvalidArgument,
               HasSubstr("decoder_ffn_dim"));
  // Our flat form: every field must be there.
  EXPECT_ERROR(Parse(R"({"hidden_size": 1, "head_dim": 2})"), kNotFound, HasSubstr("required"));
  EXPECT_ERROR(Parse(R"({"attn_gated": false, "more": 2})"), kInvalidArgument, HasSubstr("more"));
}

TEST(ModelErrorsTest, Consistency) {
  EXPECT_ERROR(With(Qwen3(), R"({"num_key_value_heads": 3})"), kInvalidArgument,
               HasSubstr("no multiple of num_key_value_heads = 3"));
  EXPECT_ERROR(With(Qwen3(), R"({"linear_num_key_heads": 4})"), kInvalidArgument,
               HasSubstr("linear_value_head_dim 0"));
  EXPECT_ERROR(With(Qwen3(), R"({"index_topk": 4})"), kInvalidArgument, HasSubstr("index_topk 4"));
  EXPECT_ERROR(With(Qwen3(), R"({"hc_lowrank": 4})"), kInvalidArgument, HasSubstr("hc_mult"));
  EXPECT_ERROR(With(Qwen3(), R"({"o_groups": 4})"), kInvalidArgument, HasSubstr("o_lora_rank 0"));
}

TEST(ModelErrorsTest, ProductsThatDoNotFit) {
  const struct {
    const char* patch;
    const char* name;
  } overflows[] = {
      {R"({"head_dim": 9223372036854775807})", "num_attention_heads * head_dim"},
      {R"({"vocab_size": 18446744073709551615})", "vocab_size * hidden_size"},
      {R"({"mamba_num_heads": 4294967296, "mamba_head_dim": 4294967296})", "mamba_num_heads"},
      {R"({"hc_mult": 4294967296})", "hc_mult * hc_mult"},
      {R"({"o_groups": 4294967296, "o_lora_rank": 4294967296})", "o_groups * o_lora_rank"},
      {R"({"index_n_heads": 18446744073709551615, "index_head_dim": 1, "index_topk": 1})",
       "index_n_heads * index_head_dim"},
      {R"({"num_experts": 18446744073709551615, "zero_expert_num": 1, "num_experts_per_tok": 1,
           "moe_intermediate_size": 1})",
       "num_experts + zero_expert_num"},
  };
  for (const auto& [patch, name] : overflows) {
    EXPECT_ERROR(With(Qwen3(), patch), kOutOfRange, HasSubstr(name));
  }
  EXPECT_ERROR(With(DeepseekV3(), R"({"n_shared_experts": 18446744073709551615})"), kOutOfRange,
               HasSubstr("n_shared_experts"));
  EXPECT_ERROR(With(DeepseekV3(), R"({"qk_nope_head_dim": 18446744073709551615})"), kOutOfRange,
               HasSubstr("qk_nope_head_dim"));
}

TEST(ModelErrorsTest, Load) {
  EXPECT_THAT(LoadModelConfig("nowhere.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere.json")));
}

}  // namespace
}  // namespace draftmark
