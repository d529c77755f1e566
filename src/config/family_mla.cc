// Families with latent attention (MLA): spec/model_config.md section 4.5.
#include <fmt/format.h>

#include "src/config/family.h"

namespace draftmark::internal {
namespace {

// The ratio belongs to QSA; `index_kpool` of GLM-5.3 is not it (section 6).
Status RefineMla(const FamilyInput&, SizingFields& fields) {
  fields.index_compress_ratio = 0;
  return OkStatus();
}

// Kimi Delta Attention has one head count and one width for keys and values.
Status ReadKda(const FamilyInput& input, SizingFields& fields) {
  std::vector<AliasKey::Place> heads = {{&input.text, "linear_num_heads"}};
  std::vector<AliasKey::Place> widths = {{&input.text, "linear_head_dim"}};
  std::optional<JsonObject> kda;
  if (input.text.Has("linear_attn_config")) {
    DM_ASSIGN_OR_RETURN(kda, input.text.Object("linear_attn_config"));
    heads.insert(heads.begin(), {&*kda, "num_heads"});
    widths.insert(widths.begin(), {&*kda, "head_dim"});
  } else if (!input.text.Has("linear_num_heads")) {
    return input.text.Object("linear_attn_config").status();
  }
  DM_ASSIGN_OR_RETURN(const std::uint64_t count, AliasKey(heads).Read(&JsonObject::U64));
  DM_ASSIGN_OR_RETURN(const std::uint64_t width, AliasKey(widths).Read(&JsonObject::U64));
  if (count == 0 || width == 0) {
    return InvalidArgumentError(
        fmt::format("{}: expected heads and a width above 0, found num_heads {} and head_dim {}",
                    input.text.Where("linear_attn_config"), count, width));
  }
  fields.linear_num_key_heads = fields.linear_num_value_heads = count;
  fields.linear_key_head_dim = fields.linear_value_head_dim = width;
  return OkStatus();
}

Status RefineGlm5Next(const FamilyInput& input, SizingFields& fields) {
  DM_RETURN_IF_ERROR(RefineMla(input, fields));
  DM_RETURN_IF_ERROR(ReadKda(input, fields));
  DM_ASSIGN_OR_RETURN(const bool mhc, input.text.BoolOr("mhc", false));
  if (mhc) DM_RETURN_IF_ERROR(ReadPositive(input.text, "hc_mult").status());
  return OkStatus();
}

Status RefineKimiK3(const FamilyInput& input, SizingFields& fields) {
  DM_RETURN_IF_ERROR(RefineMla(input, fields));
  DM_RETURN_IF_ERROR(ReadKda(input, fields));
  DM_ASSIGN_OR_RETURN(fields.attn_gated, input.text.BoolOr("mla_use_output_gate", false));
  return OkStatus();
}

FamilyRules Mla(FamilyRules rules) {
  rules.head_dim = HeadDimRule::kMla;
  rules.experts = ExpertRule::kRequired;
  rules.positive.push_back("kv_lora_rank");
  rules.present.push_back("qk_rope_head_dim");  // 0 is a real value, absent is not
  if (rules.refine == nullptr) rules.refine = RefineMla;
  return rules;
}

}  // namespace

const std::vector<FamilyRules>& MlaFamilies() {
  static const auto* const kFamilies = new std::vector<FamilyRules>{
      Mla({.family = "deepseek_v3",
           .model_types = {"deepseek_v3"},
           .architectures = {"DeepseekV3ForCausalLM"}}),
      Mla({.family = "deepseek_v32",
           .model_types = {"deepseek_v32"},
           .architectures = {"DeepseekV32ForCausalLM"}}),
      Mla({.family = "kimi_k2", .model_types = {"kimi_k2"}}),
      Mla({.family = "kimi_k25",
           .model_types = {"kimi_k25"},
           .architectures = {"KimiK25ForConditionalGeneration"}}),
      Mla({.family = "glm_moe_dsa",
           .model_types = {"glm_moe_dsa"},
           .architectures = {"GlmMoeDsaForCausalLM"}}),
      Mla({.family = "mistral4",
           .model_types = {"mistral4", "mistral3"},
           .architectures = {"Mistral4ForCausalLM", "Mistral3ForConditionalGeneration"}}),
      Mla({.family = "glm5_next",
           .model_types = {"glm5_next", "glm5_next_text"},
           .architectures = {"Glm5NextForConditionalGeneration"},
           .refine = RefineGlm5Next}),
      Mla({.family = "kimi_k3",
           .model_types = {"kimi_k3", "kimi_linear"},
           .architectures = {"KimiK3ForConditionalGeneration", "KimiLinearForCausalLM"},
           .refine = RefineKimiK3}),
      // Every layer has dense FFNs beside its experts.
      Mla({.family = "longcat_flash",
           .model_types = {"longcat_flash"},
           .architectures = {"LongcatFlashForCausalLM"},
           .shared = SharedRule::kNone,
           .ffn = FfnRule::kRequired,
           .present = {"zero_expert_num"}}),
      Mla({.family = "longcat_flash_ngram",
           .model_types = {"longcat_flash_ngram"},
           .architectures = {"LongcatFlashNgramForCausalLM"},
           .shared = SharedRule::kNone,
           .ffn = FfnRule::kRequired,
           .present = {"zero_expert_num"}}),
  };
  return *kFamilies;
}

}  // namespace draftmark::internal
