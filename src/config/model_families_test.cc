// One small config per family of spec/model_config.md section 2, with the fields it must give.
// Values are those of published models where they are known; the files are our own.
#include <string>

#include "src/base/status_matchers.h"
#include "src/config/model_config.h"

namespace draftmark {
namespace {

struct Case {
  std::string name;
  std::string family;
  std::string text;
  SizingFields fields;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

std::vector<Case> Cases();

class FamilyTest : public ::testing::TestWithParam<Case> {};

TEST_P(FamilyTest, GivesItsFields) {
  JsonParseOptions options;
  options.allow_nonfinite = true;
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(GetParam().text, "x.json", options));
  DM_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(json, "x.json"));
  EXPECT_EQ(config.family, GetParam().family);
  EXPECT_EQ(config.fields, GetParam().fields)
      << ToJson(config.fields).dump(1) << "\nexpected " << ToJson(GetParam().fields).dump(1);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTest, ::testing::ValuesIn(Cases()),
                         [](const auto& param) { return param.param.name; });

// Sizes that no rule is about.
#define PLAIN R"("hidden_size": 2048, "vocab_size": 1000, "num_attention_heads": 16)"

std::vector<Case> DenseCases() {
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
      PLAIN R"(, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144)";
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
       R"({"architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": {)" PLAIN
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
       R"({"model_type": "qwen3_5_moe_text", )" PLAIN
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
       R"({"model_type": "mistral", )" PLAIN
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

std::vector<Case> HybridCases() {
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
  SizingFields resaved = nemotron;
  resaved.moe_intermediate_size = 7688;
  const std::string base = PLAIN R"(, "num_key_value_heads": 2, "head_dim": 128,
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
      R"({"model_type": "gemma4", "text_config": {)" PLAIN
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
      // A dense file that HF saved again with the class default of 8 experts.
      {"nemotron_dense_resaved", "nemotron_h",
       R"({"model_type": "nemotron_h", )" + base +
           R"(, "n_groups": 8, "hybrid_override_pattern": "M-M*-", "n_routed_experts": 8,
              "num_experts_per_tok": 2, "moe_intermediate_size": 7688})",
       resaved},
      {"nemotron_dense_words", "nemotron_h",
       R"({"model_type": "nemotron_h", )" + base +
           R"(, "n_groups": 8, "layers_block_type": ["linear_attention", "mlp", "full_attention"]})",
       nemotron},
      // V4-Pro: two values that upstream's defaults get wrong.
      {"deepseek_v4_pro",
       "deepseek_v4",
       R"({"model_type": "deepseek_v4", )" PLAIN
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

std::vector<Case> MlaCases() {
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
  const std::string base = PLAIN R"(, "intermediate_size": 18432, "kv_lora_rank": 512,
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
  const std::string longcat_text = PLAIN
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
       R"({"model_type": "glm5_next", )" PLAIN R"(, "intermediate_size": 18432, "kv_lora_rank": 512,
          "qk_rope_head_dim": 0, "qk_nope_head_dim": 256, "qk_head_dim": 256, "head_dim": 0,
          "q_lora_rank": 1536, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
          "n_routed_experts": 384, "n_shared_experts": 2, "mhc": true, "hc_mult": 4,
          "linear_num_heads": 64, "linear_head_dim": 128, "index_kpool": 4,
          "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048})",
       glm53},
      {"kimi_linear_bare", "kimi_k3",
       R"({"model_type": "kimi_linear", )" PLAIN R"(, "intermediate_size": 18432,
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

std::vector<Case> MoeCases() {
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
       R"({"model_type": "minimax_m2", )" PLAIN
       R"(, "intermediate_size": 1536, "num_key_value_heads": 8, "head_dim": 128,
          "num_local_experts": 256, "num_experts_per_tok": 8, "shared_intermediate_size": 0,
          "shared_expert_intermediate_size": 99})",
       moe},
      // Maxima over the two kinds of layer; the canonical of two spellings wins.
      {"step3p7", "step3p7",
       R"({"model_type": "step3p7", "text_config": {"model_type": "step3p5", )" PLAIN
       R"(, "intermediate_size": 11264, "num_attention_groups": 8, "head_dim": 96,
          "attention_other_setting": {"num_attention_heads": 24, "num_attention_groups": 4,
          "head_dim": 128}, "moe_num_experts": 999, "num_experts": 256, "moe_top_k": 8,
          "moe_intermediate_size": 1536, "share_expert_dim": 1280}})",
       step},
      {"step3p7_other_spelling", "step3p7",
       R"({"architectures": ["Step3p7ForConditionalGeneration"], "text_config": {)" PLAIN
       R"(, "intermediate_size": 11264, "num_attention_groups": 4, "head_dim": 128,
          "attention_other_setting": {"num_attention_heads": 24, "num_attention_groups": 8},
          "moe_num_experts": 256, "moe_top_k": 8, "moe_intermediate_size": 1536,
          "share_expert_dims": [640, 1280]}})",
       step},
      {"laguna_uniform", "laguna",
       R"({"model_type": "laguna", )" PLAIN
       R"(, "intermediate_size": 1536, "num_key_value_heads": 8, "head_dim": 128,
          "shared_expert_intermediate_size": 1024)" +
           experts + "}",
       laguna},
      {"flash_next_without_gate", "qwen4_exp",
       R"({"model_type": "qwen4_exp", "text_config": {)" PLAIN
       R"(, "num_key_value_heads": 8, "head_dim": 128, "output_gate_type": "none",
          "shared_expert_intermediate_size": 640)" +
           experts + "}}",
       flash},
      {"flash_next_third_spelling", "qwen4_exp",
       R"({"architectures": ["Qwen3_8_FlashNextForConditionalGeneration"], "text_config": {)" PLAIN
       R"(, "num_key_value_heads": 8, "head_dim": 128, "output_gate_type": "",
          "shared_expert_intermediate_size": 640)" +
           experts + "}}",
       flash},
  };
}

std::vector<Case> Cases() {
  std::vector<Case> all;
  for (const auto& cases : {DenseCases(), HybridCases(), MlaCases(), MoeCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace
}  // namespace draftmark
