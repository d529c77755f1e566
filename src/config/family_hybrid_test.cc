// spec/model_config.md sections 4.3, 4.4 and 4.6.
#include <string>
#include <vector>

#include "src/config/family_testing.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

std::vector<FamilyCase> HybridCases() {
  SizingFields nemotron = {.hidden_size = 2048,
                           .intermediate_size = 1856,
                           .vocab_size = 1000,
                           .num_attention_heads = 16,
                           .num_key_value_heads = 2,
                           .head_dim = 128,
                           .mamba_num_heads = 64,
                           .mamba_head_dim = 64,
                           .ssm_state_size = 128,
                           .n_groups = 8};
  SizingFields ultra = nemotron;
  ultra.num_experts = 512;
  ultra.num_experts_per_tok = 22;
  ultra.moe_intermediate_size = 2688;
  ultra.shared_expert_intermediate_size = 5376;
  ultra.moe_latent_size = 2048;
  SizingFields puzzle = ultra;
  puzzle.moe_latent_size = 0;
  const std::string base = DM_PLAIN_SIZES R"(, "num_key_value_heads": 2, "head_dim": 128,
      "intermediate_size": 1856, "mamba_num_heads": 64, "mamba_head_dim": 64,
      "ssm_state_size": 128, "expand": 2)";
  const std::string experts = R"(, "n_routed_experts": 512, "n_shared_experts": 1,
      "moe_shared_expert_intermediate_size": 5376)";
  SizingFields gemma = {.hidden_size = 2048,
                        .intermediate_size = 2048 * 2,
                        .vocab_size = 1000,
                        .num_attention_heads = 16,
                        .num_key_value_heads = 4,
                        .head_dim = 512};
  SizingFields gemma_moe = gemma;
  gemma_moe.intermediate_size = 2048;
  gemma_moe.num_experts = 128;
  gemma_moe.num_experts_per_tok = 8;
  gemma_moe.moe_intermediate_size = 704;
  SizingFields gemma_narrow = gemma;
  gemma_narrow.intermediate_size = 2048;
  const std::string gemma_text =
      R"({"model_type": "gemma4", "text_config": {)" DM_PLAIN_SIZES
      R"(, "intermediate_size": 2048, "num_key_value_heads": 2, "num_global_key_value_heads": 4,
         "head_dim": 256, "global_head_dim": 512, "num_hidden_layers": 30,
         "expert_intermediate_size": null)";
  return {
      // Ultra: no num_hidden_layers, list of words instead of letters, another name of n_groups.
      {"nemotron_ultra", "nemotron_h",
       R"({"model_type": "nemotron_h", )" + base + experts +
           R"(, "mamba_n_groups": 8, "layers_block_type": ["mamba", "moe", "attention"],
              "num_experts_per_tok": 22, "moe_intermediate_size": 2688, "moe_latent_size": 2048,
              "time_step_limit": [0.0, Infinity]})",
       ultra},
      // Lightning: null latent size. Puzzle: maxima over its blocks and the scalar.
      {"nemotron_puzzle", "nemotron_h_puzzle",
       R"({"model_type": "nemotron_h_puzzle", "num_hidden_layers": null, )" + base + experts +
           R"(, "n_groups": 8, "moe_latent_size": null, "moe_intermediate_size": 1280,
              "num_experts_per_tok": 22, "block_configs": [null, {"block_type": "mamba"},
              {"block_type": "moe", "moe_intermediate_size": 2688, "num_experts_per_tok": 4}]})",
       puzzle},
      {"nemotron_puzzle_without_scalars", "nemotron_h_puzzle",
       R"({"architectures": ["NemotronHPuzzleForCausalLM"], )" + base + experts +
           R"(, "n_groups": 8, "block_configs": [
              {"moe_intermediate_size": 2688, "num_experts_per_tok": 4},
              {"moe_intermediate_size": 1344, "num_experts_per_tok": 22}]})",
       puzzle},
      // A dense file that HF saved again with its class defaults: 8 experts and their widths, of
      // which the shared one would enlarge ssm_qkvz.
      {"nemotron_dense_resaved", "nemotron_h",
       R"({"model_type": "nemotron_h", )" + base +
           R"(, "n_groups": 8, "hybrid_override_pattern": "M-M*-", "n_routed_experts": 8,
              "num_experts_per_tok": 2, "moe_intermediate_size": 7688, "n_shared_experts": 1,
              "moe_shared_expert_intermediate_size": 7688, "moe_latent_size": 1024})",
       nemotron},
      {"nemotron_dense_no_schedule", "nemotron_h",
       R"({"model_type": "nemotron_h", )" + base +
           R"(, "n_groups": 8, "n_routed_experts": 0, "n_shared_experts": 1,
              "moe_intermediate_size": 7688, "moe_shared_expert_intermediate_size": 7688})",
       nemotron},
      {"nemotron_dense_words", "nemotron_h",
       R"({"model_type": "nemotron_h", )" + base +
           R"(, "n_groups": 8, "layers_block_type": ["linear_attention", "mlp", "full_attention"]})",
       nemotron},
      // V4-Pro: two values that upstream's defaults get wrong.
      {"deepseek_v4_pro",
       "deepseek_v4",
       R"({"model_type": "deepseek_v4", )" DM_PLAIN_SIZES
       R"(, "num_key_value_heads": 1, "head_dim": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
          "o_lora_rank": 1024, "o_groups": 16, "hc_mult": 4, "index_n_heads": 64,
          "index_head_dim": 128, "index_topk": 1024, "compress_ratios": [0, 4, 128],
          "n_routed_experts": 384, "num_experts_per_tok": 6, "moe_intermediate_size": 3072,
          "n_shared_experts": 1, "index_compress_ratio": 4})",
       {.hidden_size = 2048,
        .vocab_size = 1000,
        .num_attention_heads = 16,
        .num_key_value_heads = 1,
        .head_dim = 512,
        .num_experts = 384,
        .num_experts_per_tok = 6,
        .moe_intermediate_size = 3072,
        .shared_expert_intermediate_size = 3072,
        .kv_lora_rank = 512,
        .q_lora_rank = 1536,
        .qk_rope_head_dim = 64,
        .o_lora_rank = 1024,
        .o_groups = 16,
        .hc_mult = 4,
        .index_n_heads = 64,
        .index_head_dim = 128,
        .index_topk = 1024}},
      {"gemma4_double_wide", "gemma4",
       gemma_text + R"(, "use_double_wide_mlp": true, "num_kv_shared_layers": 10}})", gemma},
      {"gemma4_double_wide_nothing_shared", "gemma4",
       gemma_text + R"(, "use_double_wide_mlp": true, "num_kv_shared_layers": 0}})", gemma_narrow},
      {"gemma4_double_wide_all_shared", "gemma4",
       gemma_text + R"(, "use_double_wide_mlp": true, "num_kv_shared_layers": 30}})", gemma_narrow},
      {"gemma4_experts", "gemma4",
       gemma_text + R"(, "enable_moe_block": true, "num_experts": 128, "top_k_experts": 8,
                        "moe_intermediate_size": 704, "n_shared_experts": 3}})",
       gemma_moe},
      {"gemma4_experts_switched_off", "gemma4",
       gemma_text + R"(, "enable_moe_block": false, "num_experts": 128, "top_k_experts": 8,
                        "moe_intermediate_size": 704}})",
       gemma_narrow},
  };
}

TEST_P(FamilyTest, GivesItsFields) { ExpectFields(); }

INSTANTIATE_TEST_SUITE_P(Hybrid, FamilyTest, ::testing::ValuesIn(HybridCases()),
                         [](const auto& param) { return param.param.name; });

TEST(HybridFamiliesTest, DeepseekV4) {
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

TEST(HybridFamiliesTest, Nemotron) {
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

TEST(HybridFamiliesTest, Gemma) {
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

}  // namespace
}  // namespace draftmark
