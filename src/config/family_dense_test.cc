// spec/model_config.md sections 4.1 and 4.2, and the end of 4.7.
#include <string>
#include <vector>

#include "src/config/family_testing.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

std::vector<FamilyCase> DenseCases() {
  const SizingFields qwen3_vl = {.hidden_size = 2048,
                                 .intermediate_size = 6144,
                                 .vocab_size = 1000,
                                 .num_attention_heads = 16,
                                 .num_key_value_heads = 4,
                                 .head_dim = 128,
                                 .mrope_interleaved = true};
  SizingFields qwen3_5 = qwen3_vl;
  qwen3_5.attn_gated = true;
  qwen3_5.linear_num_key_heads = 16;
  qwen3_5.linear_key_head_dim = 128;
  qwen3_5.linear_num_value_heads = 32;
  qwen3_5.linear_value_head_dim = 128;
  SizingFields qwen3_5_moe = qwen3_5;
  qwen3_5_moe.intermediate_size = 0;
  qwen3_5_moe.num_experts = 256;
  qwen3_5_moe.num_experts_per_tok = 8;
  qwen3_5_moe.moe_intermediate_size = 512;
  qwen3_5_moe.shared_expert_intermediate_size = 512;
  SizingFields one_stream = qwen3_vl;
  one_stream.mrope_interleaved = false;
  SizingFields qwen3_moe = one_stream;
  qwen3_moe.num_experts = 128;
  qwen3_moe.num_experts_per_tok = 8;
  qwen3_moe.moe_intermediate_size = 768;
  SizingFields qwen3_vl_moe = qwen3_moe;
  qwen3_vl_moe.mrope_interleaved = true;
  qwen3_vl_moe.intermediate_size = 0;
  SizingFields mixtral = one_stream;
  mixtral.num_experts = 8;
  mixtral.num_experts_per_tok = 2;
  mixtral.moe_intermediate_size = 6144;
  const std::string dense =
      DM_PLAIN_SIZES R"(, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144)";
  const std::string linear = R"(, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
      "linear_num_value_heads": 32, "linear_value_head_dim": 128)";
  const std::string mrope = R"(, "rope_parameters": {"mrope_section": [11, 11, 10]})";
  const std::string experts_35 = R"(, "num_experts": 256, "num_experts_per_tok": 8,
      "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512)";
  return {
      // The section has moved from rope_scaling to rope_parameters; a mirror may have dropped it.
      {"qwen3_vl", "qwen3_vl",
       R"({"model_type": "qwen3_vl", "text_config": {)" + dense +
           R"(, "rope_scaling": {"mrope_interleaved": true, "mrope_section": [24, 20, 20]}}})",
       qwen3_vl},
      {"qwen3_vl_without_section", "qwen3_vl",
       R"({"model_type": "qwen3_vl", "text_config": {)" + dense + "}}", qwen3_vl},
      {"qwen3_vl_moe_resaved", "qwen3_vl_moe",
       R"({"architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": {)" DM_PLAIN_SIZES
       R"(, "num_key_value_heads": 4, "head_dim": 128, "num_local_experts": 128,
          "num_experts_per_tok": 8, "moe_intermediate_size": 768}})",
       qwen3_vl_moe},
      // Text-only exports follow the rules of the nested form.
      {"qwen3_5_text", "qwen3_5",
       R"({"model_type": "qwen3_5_text", )" + dense + linear + mrope + "}", qwen3_5},
      {"qwen3_5_no_model_type", "qwen3_5",
       R"({"architectures": ["Qwen3_5ForCausalLM"], "model_type": null, )" + dense + linear +
           mrope + R"(, "attn_output_gate": true})",
       qwen3_5},
      {"qwen3_5_moe_text", "qwen3_5_moe",
       R"({"model_type": "qwen3_5_moe_text", )" DM_PLAIN_SIZES
       R"(, "num_key_value_heads": 4, "head_dim": 128, "mlp_only_layers": [])" +
           linear + mrope + experts_35 + "}",
       qwen3_5_moe},
      // Found under a second name of the text object; the vocabulary only at the top.
      {"text_object_and_vocabulary", "qwen3_5",
       R"({"model_type": "qwen3_5", "vocab_size": 1000, "text_config": null, "llm_config": {
          "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
          "head_dim": 128, "intermediate_size": 6144)" +
           linear + mrope + "}}",
       qwen3_5},
      {"qwen3_zero_section_is_one_stream", "qwen3",
       R"({"model_type": "qwen3", )" + dense + R"(, "rope_parameters": {"mrope_section": [0, 0]}})",
       one_stream},
      {"qwen3_moe_resaved", "qwen3_moe",
       R"({"model_type": "qwen3_moe", )" + dense +
           R"(, "num_local_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768})",
       qwen3_moe},
      {"mistral_quotient", "mistral",
       R"({"model_type": "mistral", )" DM_PLAIN_SIZES
       R"(, "num_key_value_heads": 4, "head_dim": null, "intermediate_size": 6144})",
       one_stream},
      {"mistral3_dense", "mistral",
       R"({"model_type": "mistral3", "text_config": {"model_type": "mistral", )" + dense + "}}",
       one_stream},
      {"mixtral", "mixtral",
       R"({"model_type": "mixtral", )" + dense +
           R"(, "num_local_experts": 8, "num_experts_per_tok": 2})",
       mixtral},
      {"mistral_params_dense", "mistral_params",
       R"({"dim": 2048, "n_layers": 4, "n_heads": 16, "n_kv_heads": 4, "head_dim": 128,
           "hidden_dim": 6144, "vocab_size": 1000})",
       one_stream},
      // Oracle row mistral_small_4_mla.
      {"mistral_params_mla",
       "mistral_params",
       R"({"dim": 4096, "n_layers": 36, "n_heads": 32, "head_dim": 128, "hidden_dim": 12288,
           "vocab_size": 131072, "q_lora_rank": 1024, "kv_lora_rank": 256, "qk_rope_head_dim": 64,
           "qk_nope_head_dim": 64, "v_head_dim": 128, "moe": {"num_experts": 128,
           "num_experts_per_tok": 4, "expert_hidden_dim": 2048, "num_shared_experts": 1}})",
       {.hidden_size = 4096,
        .intermediate_size = 12288,
        .vocab_size = 131072,
        .num_attention_heads = 32,
        .num_key_value_heads = 32,
        .head_dim = 128,
        .num_experts = 128,
        .num_experts_per_tok = 4,
        .moe_intermediate_size = 2048,
        .shared_expert_intermediate_size = 2048,
        .kv_lora_rank = 256,
        .q_lora_rank = 1024,
        .qk_rope_head_dim = 64}},
      // Oracle row nllb_200_3b.
      {"m2m_100",
       "m2m_100",
       R"({"model_type": "m2m_100", "d_model": 2048, "decoder_ffn_dim": 8192,
           "decoder_attention_heads": 16, "vocab_size": 256206, "encoder_ffn_dim": 1})",
       {.hidden_size = 2048,
        .intermediate_size = 8192,
        .vocab_size = 256206,
        .num_attention_heads = 16,
        .num_key_value_heads = 16,
        .head_dim = 128}},
  };
}

TEST_P(FamilyTest, GivesItsFields) { ExpectFields(); }

INSTANTIATE_TEST_SUITE_P(Dense, FamilyTest, ::testing::ValuesIn(DenseCases()),
                         [](const auto& param) { return param.param.name; });

TEST(DenseFamiliesTest, GatedFamilies) {
  const Json text = With(Qwen3(), R"({"linear_num_key_heads": 16, "linear_key_head_dim": 128,
      "linear_num_value_heads": 32, "linear_value_head_dim": 128})");
  EXPECT_TRUE(Read(Nested("qwen3_5", text))->fields.attn_gated);
  EXPECT_ERROR(Nested("qwen3_5", With(text, R"({"attn_output_gate": false})")), kInvalidArgument,
               HasSubstr("attn_output_gate: expected true"));
  EXPECT_ERROR(Nested("qwen3_5", With(text, R"({"linear_key_head_dim": 0})")), kInvalidArgument,
               HasSubstr("linear_key_head_dim"));
}

// The class would fill in 512.
TEST(DenseFamiliesTest, SharedWidthIsNotGuessed) {
  const Json text = With(Qwen3Moe(), R"({"linear_num_key_heads": 16, "linear_key_head_dim": 128,
      "linear_num_value_heads": 32, "linear_value_head_dim": 128})");
  for (const char* family : {"qwen3_next", "qwen3_5_moe"}) {
    const Json json = With(text, R"({"model_type": ")" + std::string(family) + R"("})");
    EXPECT_ERROR(json, kNotFound, HasSubstr("shared_expert_intermediate_size"));
    DM_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                            Read(With(json, R"({"n_shared_experts": 1})")));
    EXPECT_EQ(config.fields.shared_expert_intermediate_size, 768u);
  }
}

// The list of additions in model_config.h.
TEST(DenseFamiliesTest, NamesBeyondTheTable) {
  const auto family = [](const Json& json) {
    const StatusOr<ModelConfig> config = Read(json);
    return config.ok() ? config->family : config.status().ToString();
  };
  EXPECT_EQ(family(With(Qwen3(), R"({"model_type": "qwen3_vl_text"})")), "qwen3_vl");
  EXPECT_EQ(family(With(Qwen3Moe(), R"({"model_type": "qwen3_vl_moe_text"})")), "qwen3_vl_moe");
  const char* kda = R"({"model_type": "glm5_next_text",
                        "linear_attn_config": {"num_heads": 4, "head_dim": 8}})";
  EXPECT_EQ(family(With(DeepseekV3(), kda)), "glm5_next");
  EXPECT_EQ(family(With(With(DeepseekV3(), kda), R"({"model_type": null,
                        "architectures": ["KimiLinearForCausalLM"]})")),
            "kimi_k3");
  // The top level decides; mistral3 alone leaves dense or Small 4 to the inner type.
  const auto inner = [](const char* type) {
    Json text = DeepseekV3();
    text["model_type"] = type;
    return text;
  };
  EXPECT_EQ(family(Nested("mistral3", inner("mistral"))), "mistral");
  EXPECT_EQ(family(Nested("mistral3", inner("mistral4"))), "mistral4");
  EXPECT_EQ(family(Nested("mistral3", inner("llama"))), "mistral4");
  EXPECT_EQ(family(Nested("mistral4", inner("mistral"))), "mistral4");
  EXPECT_EQ(family(Nested("kimi_k25", inner("mistral"))), "kimi_k25");
}

TEST(DenseFamiliesTest, OwnForms) {
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

}  // namespace
}  // namespace draftmark
