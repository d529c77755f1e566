// MiniMax-M2, Step 3.7, Laguna, Qwen3.8-Flash-Next: spec/model_config.md section 4.7.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "src/config/family.h"

namespace draftmark::internal {
namespace {

// Step 3.7: sliding layers have attention sizes of their own; buffers serve the wider ones.
Status RefineStep(const FamilyInput& input, SizingFields& fields) {
  const JsonObject& text = input.text;
  // For each of these upstream fills in a number of its own.
  if (!text.Has("num_key_value_heads") && !text.Has("num_attention_groups")) {
    return input.Text({"num_attention_groups", "num_key_value_heads"}).AbsentError();
  }
  if (!text.Has("attention_other_setting")) return OkStatus();
  DM_ASSIGN_OR_RETURN(const JsonObject other, text.Object("attention_other_setting"));
  const struct {
    std::string_view key;
    std::uint64_t& field;
  } maxima[] = {{"num_attention_heads", fields.num_attention_heads},
                {"num_attention_groups", fields.num_key_value_heads},
                {"head_dim", fields.head_dim}};
  for (const auto& [key, field] : maxima) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t value, other.U64Or(key, 0));
    field = std::max(field, value);
  }
  return OkStatus();
}

Status RefineLaguna(const FamilyInput& input, SizingFields& fields) {
  constexpr std::string_view kKey = "num_attention_heads_per_layer";
  // "Other keys required": no fallback to the number of query heads.
  if (!input.text.Has("num_key_value_heads")) {
    return input.text.U64("num_key_value_heads").status();
  }
  if (!input.text.Has(kKey)) return OkStatus();  // uniform: the scalar was read
  DM_ASSIGN_OR_RETURN(const auto heads, input.text.U64List(kKey));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] % fields.num_key_value_heads == 0) continue;
    return InvalidArgumentError(
        fmt::format("{}[{}]: expected a multiple of num_key_value_heads = {}, found {}",
                    input.text.Where(kKey), i, fields.num_key_value_heads, heads[i]));
  }
  return OkStatus();
}

Status RefineFlashNext(const FamilyInput& input, SizingFields& fields) {
  const struct {
    std::vector<std::string_view> keys;
    std::uint64_t& field;
  } renamed[] = {
      {{"hc_count", "hc_mult"}, fields.hc_mult},
      {{"indexer_n_heads", "index_n_heads"}, fields.index_n_heads},
      {{"indexer_head_dim", "index_head_dim"}, fields.index_head_dim},
      {{"indexer_budget", "index_topk"}, fields.index_topk},
      {{"indexer_compress_ratio", "index_compress_ratio"}, fields.index_compress_ratio},
  };
  for (const auto& [keys, field] : renamed) {
    DM_ASSIGN_OR_RETURN(field, input.Text(keys).ReadOr(&JsonObject::U64, std::uint64_t{0}));
  }
  if ((fields.hc_mult == 0) != (fields.hc_lowrank == 0)) {
    return InvalidArgumentError(
        fmt::format("{}: hc_count and hc_lowrank belong together, found {} and {}",
                    input.text.source(), fields.hc_mult, fields.hc_lowrank));
  }
  const int indexer_keys = (fields.index_n_heads > 0 ? 1 : 0) +
                           (fields.index_head_dim > 0 ? 1 : 0) + (fields.index_topk > 0 ? 1 : 0);
  if (indexer_keys != 0 && indexer_keys != 3) {
    return InvalidArgumentError(fmt::format(
        "{}: indexer_n_heads, indexer_head_dim and indexer_budget belong together, "
        "found {}, {} and {}",
        input.text.source(), fields.index_n_heads, fields.index_head_dim, fields.index_topk));
  }
  if (indexer_keys == 3 && fields.index_compress_ratio == 0) {
    return ReadPositive(input.text, "indexer_compress_ratio").status();
  }
  // The type names the gate's activation; without one there is no gate.
  DM_ASSIGN_OR_RETURN(const std::string gate, input.text.StringOr("output_gate_type", ""));
  fields.attn_gated = !gate.empty() && gate != "none";
  return OkStatus();
}

}  // namespace

const std::vector<FamilyRules>& OtherMoeFamilies() {
  static const auto* const kFamilies = new std::vector<FamilyRules>{
      {.family = "minimax_m2",
       .model_types = {"minimax_m2"},
       .architectures = {"MiniMaxM2ForCausalLM"},
       .experts = ExpertRule::kRequired,
       .expert_width = ExpertWidthRule::kKeyOrFfn,
       .shared = SharedRule::kNone},
      {.family = "step3p7",
       .model_types = {"step3p7"},
       .architectures = {"Step3p7ForConditionalGeneration"},
       .text_required = true,
       .experts = ExpertRule::kRequired,
       .shared = SharedRule::kRequired,
       .ffn = FfnRule::kRequired,
       .first_spelling_wins = true,
       .refine = RefineStep},
      {.family = "laguna",
       .model_types = {"laguna"},
       .architectures = {"LagunaForCausalLM"},
       .experts = ExpertRule::kRequired,
       .shared = SharedRule::kRequired,
       .ffn = FfnRule::kRequired,
       .refine = RefineLaguna},
      {.family = "qwen4_exp",
       .model_types = {"qwen4_exp", "qwen3_8_flash_next"},
       .architectures = {"Qwen4ExpForConditionalGeneration",
                         "Qwen3_8FlashNextForConditionalGeneration",
                         "Qwen3_8_FlashNextForConditionalGeneration"},
       .text_required = true,
       .experts = ExpertRule::kRequired,
       .refine = RefineFlashNext},
  };
  return *kFamilies;
}

}  // namespace draftmark::internal
