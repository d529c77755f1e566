// Where others guess, we refuse: rules that all families share (spec/model_config.md sections 1, 3
// and 5). Those of one family are in family_*_test.cc.
#include <string>

#include "src/config/family_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  EXPECT_ERROR(With(Qwen3(), R"({"model_type": "qwen\n9"})"), kUnimplemented,
               HasSubstr(R"(unsupported model_type "qwen\n9")"));
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
