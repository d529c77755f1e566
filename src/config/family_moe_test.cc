// spec/model_config.md section 4.7.
#include <string>
#include <vector>

#include "src/config/family_testing.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

std::vector<FamilyCase> MoeCases() {
  SizingFields moe = {.hidden_size = 2048,
                      .intermediate_size = 1536,
                      .vocab_size = 1000,
                      .num_attention_heads = 16,
                      .num_key_value_heads = 8,
                      .head_dim = 128,
                      .num_experts = 256,
                      .num_experts_per_tok = 8,
                      .moe_intermediate_size = 1536};
  SizingFields step = moe;
  step.intermediate_size = 11264;
  step.num_attention_heads = 24;
  step.shared_expert_intermediate_size = 1280;
  SizingFields laguna = moe;
  laguna.shared_expert_intermediate_size = 1024;
  SizingFields flash = moe;
  flash.intermediate_size = 0;
  flash.shared_expert_intermediate_size = 640;
  const std::string experts = R"(, "num_experts": 256, "num_experts_per_tok": 8,
      "moe_intermediate_size": 1536)";
  return {
      // Experts use intermediate_size, which stays; there is never a shared expert.
      {"minimax_m2", "minimax_m2",
       R"({"model_type": "minimax_m2", )" DM_PLAIN_SIZES
       R"(, "intermediate_size": 1536, "num_key_value_heads": 8, "head_dim": 128,
          "num_local_experts": 256, "num_experts_per_tok": 8, "shared_intermediate_size": 0,
          "shared_expert_intermediate_size": 99})",
       moe},
      // Maxima over the two kinds of layer; the canonical of two spellings wins.
      {"step3p7", "step3p7",
       R"({"model_type": "step3p7", "text_config": {"model_type": "step3p5", )" DM_PLAIN_SIZES
       R"(, "intermediate_size": 11264, "num_attention_groups": 8, "head_dim": 96,
          "attention_other_setting": {"num_attention_heads": 24, "num_attention_groups": 4,
          "head_dim": 128}, "moe_num_experts": 999, "num_experts": 256, "moe_top_k": 8,
          "moe_intermediate_size": 1536, "share_expert_dim": 1280}})",
       step},
      {"step3p7_other_spelling", "step3p7",
       R"({"architectures": ["Step3p7ForConditionalGeneration"], "text_config": {)" DM_PLAIN_SIZES
       R"(, "intermediate_size": 11264, "num_attention_groups": 4, "head_dim": 128,
          "attention_other_setting": {"num_attention_heads": 24, "num_attention_groups": 8},
          "moe_num_experts": 256, "moe_top_k": 8, "moe_intermediate_size": 1536,
          "share_expert_dims": [640, 1280]}})",
       step},
      {"laguna_uniform", "laguna",
       R"({"model_type": "laguna", )" DM_PLAIN_SIZES
       R"(, "intermediate_size": 1536, "num_key_value_heads": 8, "head_dim": 128,
          "shared_expert_intermediate_size": 1024)" +
           experts + "}",
       laguna},
      {"flash_next_without_gate", "qwen4_exp",
       R"({"model_type": "qwen4_exp", "text_config": {)" DM_PLAIN_SIZES
       R"(, "num_key_value_heads": 8, "head_dim": 128, "output_gate_type": "none",
          "shared_expert_intermediate_size": 640)" +
           experts + "}}",
       flash},
      {"flash_next_third_spelling", "qwen4_exp",
       R"({"architectures": ["Qwen3_8_FlashNextForConditionalGeneration"], "text_config": {)" DM_PLAIN_SIZES
       R"(, "num_key_value_heads": 8, "head_dim": 128, "output_gate_type": "",
          "shared_expert_intermediate_size": 640)" +
           experts + "}}",
       flash},
  };
}

TEST_P(FamilyTest, GivesItsFields) { ExpectFields(); }

INSTANTIATE_TEST_SUITE_P(Moe, FamilyTest, ::testing::ValuesIn(MoeCases()),
                         [](const auto& param) { return param.param.name; });

// Section 3: the key, else a number of experts of the routed width, else 0. "Else 0" ends in an
// error where the family's row says so.
TEST(MoeFamiliesTest, SharedWidth) {
  const auto shared = [](const Json& json) {
    const StatusOr<ModelConfig> config = Read(json);
    EXPECT_THAT(config, IsOk());
    return config.ok() ? config->fields.shared_expert_intermediate_size : ~std::uint64_t{0};
  };
  Json flash = FlashText();
  flash.erase("shared_expert_intermediate_size");
  EXPECT_EQ(shared(Nested("qwen4_exp", flash)), 0u);
  EXPECT_EQ(shared(Nested("qwen4_exp", With(flash, R"({"n_shared_experts": 2})"))), 2 * 768u);
  Json step = StepText();
  step.erase("share_expert_dim");
  EXPECT_ERROR(Nested("step3p7", step), kNotFound, HasSubstr("share_expert_dim"));
  EXPECT_EQ(shared(Nested("step3p7", With(step, R"({"n_shared_experts": 1})"))), 1280u);
  const Json laguna = With(Qwen3Moe(), R"({"model_type": "laguna"})");
  EXPECT_ERROR(laguna, kNotFound, HasSubstr("shared_expert_intermediate_size"));
  EXPECT_EQ(shared(With(laguna, R"({"num_shared_experts": 3})")), 3 * 768u);
  EXPECT_EQ(shared(With(laguna, R"({"shared_expert_intermediate_size": 0})")), 0u);
}

TEST(MoeFamiliesTest, StepGuessesNothing) {
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

TEST(MoeFamiliesTest, OtherMixtures) {
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

}  // namespace
}  // namespace draftmark
