// spec/model_config.md section 4.5.
#include <string>
#include <vector>

#include "src/config/family_testing.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<FamilyCase> MlaCases() {
  SizingFields mla = {.hidden_size = 2048,
                      .intermediate_size = 18432,
                      .vocab_size = 1000,
                      .num_attention_heads = 16,
                      .num_key_value_heads = 16,
                      .head_dim = 192,
                      .num_experts = 384,
                      .num_experts_per_tok = 8,
                      .moe_intermediate_size = 2048,
                      .shared_expert_intermediate_size = 4096,
                      .kv_lora_rank = 512,
                      .q_lora_rank = 1536,
                      .qk_rope_head_dim = 64};
  const std::string base = DM_PLAIN_SIZES R"(, "intermediate_size": 18432, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
      "n_routed_experts": 384, "n_shared_experts": 2)";
  const std::string query = R"(, "q_lora_rank": 1536, "qk_nope_head_dim": 128)";
  SizingFields direct = mla;
  direct.q_lora_rank = 0;
  SizingFields glm = mla;
  glm.head_dim = 256;
  glm.index_n_heads = 32;
  glm.index_head_dim = 128;
  glm.index_topk = 2048;
  SizingFields glm53 = glm;
  glm53.qk_rope_head_dim = 0;
  glm53.linear_num_key_heads = glm53.linear_num_value_heads = 64;
  glm53.linear_key_head_dim = glm53.linear_value_head_dim = 128;
  glm53.hc_mult = 4;
  SizingFields kimi = direct;
  kimi.num_experts_per_tok = 8;
  kimi.linear_num_key_heads = kimi.linear_num_value_heads = 32;
  kimi.linear_key_head_dim = kimi.linear_value_head_dim = 128;
  SizingFields longcat = mla;
  longcat.shared_expert_intermediate_size = 0;
  longcat.zero_expert_num = 128;
  longcat.num_experts_per_tok = 12;
  const std::string longcat_text = DM_PLAIN_SIZES
      R"(, "ffn_hidden_size": 18432, "expert_ffn_hidden_size": 2048, "moe_topk": 12,
         "n_routed_experts": 384, "zero_expert_num": 128, "kv_lora_rank": 512,
         "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "head_dim": 64,
         "num_layers": 14})";
  return {
      {"kimi_k2", "kimi_k2", R"({"model_type": "kimi_k2", )" + base + query + "}", mla},
      // A file that HF saved again: head_dim is its rotary width.
      {"kimi_k25", "kimi_k25",
       R"({"model_type": "kimi_k25", "text_config": {"model_type": "deepseek_v3", )" + base +
           query + R"(, "head_dim": 64}})",
       mla},
      {"deepseek_v3_direct_query", "deepseek_v3",
       R"({"model_type": "deepseek_v3", )" + base +
           R"(, "qk_nope_head_dim": 128, "q_lora_rank": null})",
       direct},
      // 192 is the width without its rotary part.
      {"glm_5_2", "glm_moe_dsa",
       R"({"model_type": "glm_moe_dsa", )" + base +
           R"(, "q_lora_rank": 1536, "head_dim": 192, "qk_nope_head_dim": 192,
              "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048,
              "index_compress_ratio": 4})",
       glm},
      {"mistral4_nested", "mistral4",
       R"({"model_type": "mistral3", "text_config": {"model_type": "mistral4", )" + base + query +
           "}}",
       mla},
      {"mistral4_flat", "mistral4", R"({"model_type": "mistral4", )" + base + query + "}", mla},
      {"glm5_next_flat_names", "glm5_next",
       R"({"model_type": "glm5_next", )" DM_PLAIN_SIZES
       R"(, "intermediate_size": 18432, "kv_lora_rank": 512,
          "qk_rope_head_dim": 0, "qk_nope_head_dim": 256, "qk_head_dim": 256, "head_dim": 0,
          "q_lora_rank": 1536, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
          "n_routed_experts": 384, "n_shared_experts": 2, "mhc": true, "hc_mult": 4,
          "linear_num_heads": 64, "linear_head_dim": 128, "index_kpool": 4,
          "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048})",
       glm53},
      {"kimi_linear_bare", "kimi_k3",
       R"({"model_type": "kimi_linear", )" DM_PLAIN_SIZES R"(, "intermediate_size": 18432,
          "kv_lora_rank": 512, "q_lora_rank": null, "qk_rope_head_dim": 64,
          "qk_nope_head_dim": 128, "head_dim": 72, "num_experts": 384,
          "num_experts_per_token": 8, "moe_intermediate_size": 2048, "num_shared_experts": 2,
          "linear_attn_config": {"num_heads": 32, "head_dim": 128, "kda_layers": [1]}})",
       kimi},
      {"longcat_lite", "longcat_flash_ngram",
       R"({"architectures": ["LongcatFlashNgramForCausalLM"], )" + longcat_text, longcat},
      {"longcat_flash", "longcat_flash", R"({"model_type": "longcat_flash", )" + longcat_text,
       longcat},
  };
}

TEST_P(FamilyTest, GivesItsFields) { ExpectFields(); }

INSTANTIATE_TEST_SUITE_P(Mla, FamilyTest, ::testing::ValuesIn(MlaCases()),
                         [](const auto& param) { return param.param.name; });

TEST(MlaFamiliesTest, Mla) {
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

}  // namespace
}  // namespace draftmark
