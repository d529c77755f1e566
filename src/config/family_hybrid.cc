// Nemotron-H, DeepSeek-V4, Gemma-4: spec/model_config.md sections 4.3, 4.4 and 4.6.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "src/base/checked.h"
#include "src/config/family.h"

namespace draftmark::internal {
namespace {

// Nemotron-H: a schedule without expert layers makes the model dense; the class default of 8
// experts, which re-saved dense files carry, must not count. A word or letter that is not known
// might be an expert layer, so only a schedule that is understood decides.
StatusOr<bool> NemotronHasExperts(const FamilyInput& input) {
  if (input.text.Has("hybrid_override_pattern")) {
    DM_ASSIGN_OR_RETURN(const std::string pattern, input.text.String("hybrid_override_pattern"));
    return pattern.empty() || pattern.find_first_not_of("M*-") != std::string::npos;
  }
  if (input.text.Has("layers_block_type")) {
    DM_ASSIGN_OR_RETURN(const auto types, input.text.StringList("layers_block_type"));
    const auto dense = [](const std::string& type) {
      return type == "mamba" || type == "attention" || type == "mlp" ||
             type == "linear_attention" || type == "full_attention";
    };
    return types.empty() || !std::all_of(types.begin(), types.end(), dense);
  }
  return true;  // no schedule to go by: the keys decide
}

Status RefineNemotron(const FamilyInput& input, SizingFields& fields) {
  const JsonObject& text = input.text;
  const bool scheduled = text.Has("hybrid_override_pattern") || text.Has("layers_block_type");
  DM_ASSIGN_OR_RETURN(const bool has_experts, NemotronHasExperts(input));
  if (fields.num_experts == 0 && scheduled && has_experts && !input.text.Has("n_routed_experts")) {
    return text.AbsentError("n_routed_experts", "a number, since the schedule has expert layers");
  }
  if (fields.num_experts == 0) return OkStatus();
  // The width is of all shared experts together: not multiplied by n_shared_experts. A file with
  // shared experts and no width would get the class default of 7688.
  const AliasKey width =
      input.Text({"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size"});
  DM_ASSIGN_OR_RETURN(const AliasKey::Place* place, width.Find());
  if (place != nullptr) return OkStatus();
  DM_ASSIGN_OR_RETURN(const auto shared, text.OptionalU64("n_shared_experts"));
  if (shared == 0) return OkStatus();
  return width.AbsentError();
}

Status RefineDeepseekV4(const FamilyInput& input, SizingFields& fields) {
  const JsonObject& text = input.text;
  if (!text.Has("num_key_value_heads")) return text.U64("num_key_value_heads").status();
  // K and V are one head of head_dim; no published file names the rank.
  if (fields.kv_lora_rank == 0) fields.kv_lora_rank = fields.head_dim;
  fields.index_compress_ratio = 0;  // the ratios per layer are not this field
  if (fields.o_lora_rank == 0 && fields.o_groups > 0) {
    return text.TypeError("o_lora_rank", "a rank above 0, since o_groups is set");
  }
  // Sparse layers need the indexer. Without a list of ratios the class makes some layers sparse.
  bool compressed = true;
  if (text.Has("compress_ratios")) {
    DM_ASSIGN_OR_RETURN(const auto ratios, text.U64List("compress_ratios"));
    compressed = std::any_of(ratios.begin(), ratios.end(), [](auto ratio) { return ratio > 0; });
  }
  if (!compressed) return OkStatus();
  for (const std::string_view key : {"index_n_heads", "index_head_dim", "index_topk"}) {
    DM_RETURN_IF_ERROR(ReadPositive(text, key).status());
  }
  return OkStatus();
}

StatusOr<bool> GemmaHasExperts(const FamilyInput& input) {
  return input.text.BoolOr("enable_moe_block", true);
}

Status RefineGemma(const FamilyInput& input, SizingFields& fields) {
  const JsonObject& text = input.text;
  if (text.Has("expert_intermediate_size")) {
    return text.TypeError("expert_intermediate_size",
                          "null: the older spelling of moe_intermediate_size is not read");
  }
  DM_ASSIGN_OR_RETURN(const bool enabled, GemmaHasExperts(input));
  if (enabled && text.Has("enable_moe_block") && fields.num_experts == 0) {
    return text.Has("num_experts")
               ? text.TypeError("num_experts", "a number above 0, since enable_moe_block is true")
               : text.AbsentError("num_experts", "a number, since enable_moe_block is true");
  }
  // Full layers are wider. The class default is 512 when the key is absent; upstream's fallback to
  // head_dim halves the buffers.
  DM_ASSIGN_OR_RETURN(const std::uint64_t global, ReadPositive(text, "global_head_dim"));
  fields.head_dim = std::max(fields.head_dim, global);
  // The pair of maxima is an over-provision on purpose: no layer has both.
  DM_ASSIGN_OR_RETURN(const auto global_kv, text.OptionalU64("num_global_key_value_heads"));
  if (global_kv) {
    if (*global_kv == 0 || fields.num_attention_heads % *global_kv != 0) {
      return text.TypeError(
          "num_global_key_value_heads",
          fmt::format("a divisor of num_attention_heads = {}", fields.num_attention_heads));
    }
    fields.num_key_value_heads = std::max(fields.num_key_value_heads, *global_kv);
  }
  DM_ASSIGN_OR_RETURN(const bool double_wide, text.BoolOr("use_double_wide_mlp", false));
  if (!double_wide) return OkStatus();
  // Layers that share another layer's KV have an FFN of twice the width, unless all or none do.
  DM_ASSIGN_OR_RETURN(const std::uint64_t layers, text.U64("num_hidden_layers"));
  DM_ASSIGN_OR_RETURN(const std::uint64_t sharing, text.U64("num_kv_shared_layers"));
  if (sharing > layers) {
    return text.TypeError("num_kv_shared_layers",
                          fmt::format("at most num_hidden_layers = {}", layers));
  }
  if (sharing > 0 && sharing < layers) {
    const CheckedU64 doubled = CheckedU64(fields.intermediate_size) * 2;
    if (!doubled.ok()) return OutOfRangeError(text.Where("intermediate_size") + ": too large");
    fields.intermediate_size = doubled.value();
  }
  return OkStatus();
}

}  // namespace

const std::vector<FamilyRules>& HybridFamilies() {
  const std::vector<std::string_view> mamba = {"mamba_num_heads", "mamba_head_dim",
                                               "ssm_state_size", "n_groups"};
  static const auto* const kFamilies = new std::vector<FamilyRules>{
      {.family = "nemotron_h",
       .model_types = {"nemotron_h"},
       .architectures = {"NemotronHForCausalLM"},
       .mrope = MropeRule::kNever,
       .positive = mamba,
       .has_experts = NemotronHasExperts,
       .refine = RefineNemotron},
      {.family = "nemotron_h_puzzle",
       .model_types = {"nemotron_h_puzzle"},
       .architectures = {"NemotronHPuzzleForCausalLM"},
       .mrope = MropeRule::kNever,
       .positive = mamba,
       .has_experts = NemotronHasExperts,
       .refine = RefineNemotron},
      {.family = "deepseek_v4",
       .model_types = {"deepseek_v4"},
       .architectures = {"DeepseekV4ForCausalLM"},
       .experts = ExpertRule::kRequired,
       .present = {"o_lora_rank", "o_groups", "qk_rope_head_dim"},
       .positive = {"q_lora_rank", "hc_mult"},
       .refine = RefineDeepseekV4},
      {.family = "gemma4",
       .model_types = {"gemma4"},
       .architectures = {"Gemma4ForConditionalGeneration"},
       .text_required = true,
       .shared = SharedRule::kNone,
       .ffn = FfnRule::kRequired,
       .mrope = MropeRule::kNever,
       .has_experts = GemmaHasExperts,
       .refine = RefineGemma},
  };
  return *kFamilies;
}

}  // namespace draftmark::internal
