// Qwen3-Next, Qwen3.5 and 3.6, Qwen3-VL, Qwen3, Llama, Mistral, Mixtral, gpt-oss, Mistral's
// params.json, M2M-100: spec/model_config.md sections 4.1, 4.2 and the end of 4.7.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/checked.h"
#include "src/config/family.h"

namespace draftmark::internal {
namespace {

// Qwen3-Next and later gate every attention layer; the published classes do not read the key, so a
// file that says otherwise describes another model.
Status RefuseUngated(const FamilyInput& input, SizingFields&) {
  DM_ASSIGN_OR_RETURN(const bool gated, input.text.BoolOr("attn_output_gate", true));
  if (!gated) {
    return input.text.TypeError("attn_output_gate", "true: this family gates unconditionally");
  }
  return OkStatus();
}

// Both head counts and both widths: class defaults would replace a missing one.
const std::vector<std::string_view> kLinear = {"linear_num_key_heads", "linear_key_head_dim",
                                               "linear_num_value_heads", "linear_value_head_dim"};

FamilyRules Gated(FamilyRules rules) {
  rules.attn_gated = true;
  rules.positive = kLinear;
  rules.refine = RefuseUngated;
  return rules;
}

FamilyRules Mixture(FamilyRules rules, SharedRule shared) {
  rules.experts = ExpertRule::kRequired;
  rules.shared = shared;
  return rules;
}

}  // namespace

const std::vector<FamilyRules>& QwenAndDenseFamilies() {
  static const auto* const kFamilies = new std::vector<FamilyRules>{
      Gated(Mixture({.family = "qwen3_next",
                     .model_types = {"qwen3_next"},
                     .architectures = {"Qwen3NextForCausalLM"},
                     .mrope = MropeRule::kNever},
                    SharedRule::kRequired)),
      Gated({.family = "qwen3_5",
             .model_types = {"qwen3_5", "qwen3_5_text"},
             .architectures = {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"}}),
      Gated(Mixture(
          {.family = "qwen3_5_moe",
           .model_types = {"qwen3_5_moe", "qwen3_5_moe_text"},
           .architectures = {"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"}},
          SharedRule::kRequired)),
      // The family always uses three position streams, also where a mirror dropped the section.
      {.family = "qwen3_vl",
       .model_types = {"qwen3_vl", "qwen3_vl_text"},
       .architectures = {"Qwen3VLForConditionalGeneration"},
       .mrope = MropeRule::kAlways},
      Mixture({.family = "qwen3_vl_moe",
               .model_types = {"qwen3_vl_moe", "qwen3_vl_moe_text"},
               .architectures = {"Qwen3VLMoeForConditionalGeneration"},
               .mrope = MropeRule::kAlways},
              SharedRule::kNone),
      {.family = "qwen3", .model_types = {"qwen3"}, .architectures = {"Qwen3ForCausalLM"}},
      Mixture({.family = "qwen3_moe",
               .model_types = {"qwen3_moe"},
               .architectures = {"Qwen3MoeForCausalLM"}},
              SharedRule::kNone),
      {.family = "llama",
       .model_types = {"llama"},
       .architectures = {"LlamaForCausalLM"},
       .head_dim = HeadDimRule::kKeyOrQuotient},
      {.family = "mistral",
       .model_types = {"mistral"},
       .architectures = {"MistralForCausalLM"},
       .head_dim = HeadDimRule::kKeyOrQuotient},
      Mixture({.family = "mixtral",
               .model_types = {"mixtral"},
               .architectures = {"MixtralForCausalLM"},
               .head_dim = HeadDimRule::kKeyOrQuotient,
               .expert_width = ExpertWidthRule::kFfn},
              SharedRule::kNone),
      Mixture({.family = "gpt_oss",
               .model_types = {"gpt_oss"},
               .architectures = {"GptOssForCausalLM"},
               .expert_width = ExpertWidthRule::kFfn},
              SharedRule::kNone),
  };
  return *kFamilies;
}

Status ReadMistralParams(const JsonObject& root, SizingFields& fields) {
  DM_ASSIGN_OR_RETURN(fields.hidden_size, ReadPositive(root, "dim"));
  DM_ASSIGN_OR_RETURN(fields.vocab_size, ReadPositive(root, "vocab_size"));
  DM_ASSIGN_OR_RETURN(fields.num_attention_heads, ReadPositive(root, "n_heads"));
  fields.num_key_value_heads = fields.num_attention_heads;
  if (root.Has("n_kv_heads")) {
    DM_ASSIGN_OR_RETURN(fields.num_key_value_heads, ReadPositive(root, "n_kv_heads"));
  }
  // Upstream assumes 128.
  DM_ASSIGN_OR_RETURN(fields.head_dim, ReadPositive(root, "head_dim"));
  DM_ASSIGN_OR_RETURN(fields.kv_lora_rank, root.U64Or("kv_lora_rank", 0));
  DM_ASSIGN_OR_RETURN(fields.q_lora_rank, root.U64Or("q_lora_rank", 0));
  DM_ASSIGN_OR_RETURN(fields.qk_rope_head_dim, root.U64Or("qk_rope_head_dim", 0));
  if (fields.kv_lora_rank > 0) {
    // As in every MLA family, the query head is nope + rope wide; the key alone is unreliable.
    DM_ASSIGN_OR_RETURN(fields.qk_rope_head_dim, root.U64("qk_rope_head_dim"));
    DM_ASSIGN_OR_RETURN(const std::uint64_t nope, root.U64Or("qk_nope_head_dim", 0));
    const CheckedU64 width = CheckedU64(nope) + fields.qk_rope_head_dim;
    if (!width.ok()) return OutOfRangeError(root.Where("qk_nope_head_dim") + ": too large");
    fields.head_dim = std::max(fields.head_dim, width.value());
  }
  if (root.Has("moe")) {
    DM_ASSIGN_OR_RETURN(const JsonObject moe, root.Object("moe"));
    DM_ASSIGN_OR_RETURN(fields.num_experts, moe.U64("num_experts"));
    if (fields.num_experts > 0) {
      DM_ASSIGN_OR_RETURN(fields.num_experts_per_tok, ReadPositive(moe, "num_experts_per_tok"));
      DM_ASSIGN_OR_RETURN(fields.moe_intermediate_size, ReadPositive(moe, "expert_hidden_dim"));
      DM_ASSIGN_OR_RETURN(const std::uint64_t shared, moe.U64Or("num_shared_experts", 0));
      const CheckedU64 width = CheckedU64(shared) * fields.moe_intermediate_size;
      if (!width.ok()) return OutOfRangeError(moe.Where("num_shared_experts") + ": too large");
      fields.shared_expert_intermediate_size = width.value();
    }
  }
  if (fields.num_experts == 0 || root.Has("hidden_dim")) {
    DM_ASSIGN_OR_RETURN(fields.intermediate_size, ReadPositive(root, "hidden_dim"));
  }
  return OkStatus();
}

Status ReadEncoderDecoder(const JsonObject& root, SizingFields& fields) {
  // The decoder's widths; the encoder is not part of a decoding pass.
  DM_ASSIGN_OR_RETURN(fields.hidden_size, ReadPositive(root, "d_model"));
  DM_ASSIGN_OR_RETURN(fields.intermediate_size, ReadPositive(root, "decoder_ffn_dim"));
  DM_ASSIGN_OR_RETURN(fields.vocab_size, ReadPositive(root, "vocab_size"));
  DM_ASSIGN_OR_RETURN(fields.num_attention_heads, ReadPositive(root, "decoder_attention_heads"));
  fields.num_key_value_heads = fields.num_attention_heads;
  if (fields.hidden_size % fields.num_attention_heads != 0) {
    return root.TypeError("decoder_attention_heads",
                          fmt::format("a divisor of d_model = {}", fields.hidden_size));
  }
  fields.head_dim = fields.hidden_size / fields.num_attention_heads;
  return OkStatus();
}

}  // namespace draftmark::internal
