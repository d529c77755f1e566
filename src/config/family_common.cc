// Rules that all families share: spec/model_config.md section 3.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "src/base/checked.h"
#include "src/config/family.h"

namespace draftmark::internal {

StatusOr<std::uint64_t> ReadWidest(const JsonObject& object, std::string_view key) {
  const Json* value = object.Find(key);
  if (value == nullptr || !value->is_array()) return object.U64(key);
  DM_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> list, object.U64List(key));
  if (list.empty()) return object.TypeError(key, "at least one size");
  return *std::max_element(list.begin(), list.end());
}

StatusOr<std::uint64_t> ReadPositive(const JsonObject& object, std::string_view key) {
  DM_ASSIGN_OR_RETURN(const std::uint64_t value, object.U64(key));
  if (value == 0) return object.TypeError(key, "a size above 0");
  return value;
}

StatusOr<std::uint64_t> HeadDimFromQuotient(const JsonObject& object, std::uint64_t hidden_size,
                                            std::uint64_t heads) {
  if (heads == 0 || hidden_size % heads != 0) {
    return object.AbsentError(
        "head_dim", fmt::format("a width, since {} heads do not divide a hidden size of {}", heads,
                                hidden_size));
  }
  return hidden_size / heads;
}

namespace {

// A field that is read under its own name, or one of a few, and is 0 if absent.
struct PlainField {
  std::uint64_t SizingFields::*member;
  std::vector<std::string_view> keys;
};

const std::vector<PlainField>& PlainFields() {
  static const auto* const kFields = new std::vector<PlainField>{
      {&SizingFields::zero_expert_num, {"zero_expert_num"}},
      {&SizingFields::linear_num_key_heads, {"linear_num_key_heads"}},
      {&SizingFields::linear_key_head_dim, {"linear_key_head_dim"}},
      {&SizingFields::linear_num_value_heads, {"linear_num_value_heads"}},
      {&SizingFields::linear_value_head_dim, {"linear_value_head_dim"}},
      {&SizingFields::mamba_num_heads, {"mamba_num_heads"}},
      {&SizingFields::mamba_head_dim, {"mamba_head_dim"}},
      {&SizingFields::ssm_state_size, {"ssm_state_size"}},
      {&SizingFields::n_groups, {"n_groups", "mamba_n_groups"}},
      {&SizingFields::kv_lora_rank, {"kv_lora_rank"}},
      {&SizingFields::q_lora_rank, {"q_lora_rank"}},
      {&SizingFields::qk_rope_head_dim, {"qk_rope_head_dim"}},
      {&SizingFields::o_lora_rank, {"o_lora_rank"}},
      {&SizingFields::o_groups, {"o_groups"}},
      {&SizingFields::hc_mult, {"hc_mult"}},
      {&SizingFields::hc_lowrank, {"hc_lowrank"}},
      {&SizingFields::index_n_heads, {"index_n_heads"}},
      {&SizingFields::index_head_dim, {"index_head_dim"}},
      {&SizingFields::index_topk, {"index_topk"}},
      {&SizingFields::index_compress_ratio, {"index_compress_ratio"}},
      // adapter_max_rank is the server's: never read from a model config.
  };
  return *kFields;
}

class CommonReader {
 public:
  CommonReader(const FamilyInput& input, const FamilyRules& rules, SizingFields& fields)
      : input_(input), text_(input.text), rules_(rules), fields_(fields) {}

  Status Read() {
    fields_.attn_gated = rules_.attn_gated;
    DM_RETURN_IF_ERROR(ReadWidths());
    DM_RETURN_IF_ERROR(ReadHeads());
    DM_RETURN_IF_ERROR(ReadPlain());
    DM_RETURN_IF_ERROR(ReadHeadDim());
    DM_RETURN_IF_ERROR(ReadExperts());
    DM_RETURN_IF_ERROR(ReadFfn());
    // Without experts their widths are not read: HF saves class defaults into dense files too, and
    // several buffers take the shared and the latent width whatever the number of experts.
    if (fields_.num_experts > 0) {
      DM_RETURN_IF_ERROR(ReadExpertWidth());
      DM_RETURN_IF_ERROR(ReadLatentWidth());
      DM_RETURN_IF_ERROR(ReadShared());
    }
    return ReadMrope();
  }

 private:
  // The place of a value under one of several spellings; nullptr if absent.
  StatusOr<std::optional<AliasKey::Place>> Find(const std::vector<std::string_view>& keys) const {
    if (rules_.first_spelling_wins) {
      for (const std::string_view key : keys) {
        if (text_.Has(key)) return {AliasKey::Place{&text_, key}};
      }
      return std::optional<AliasKey::Place>();
    }
    const AliasKey alias = input_.Text(keys);
    DM_ASSIGN_OR_RETURN(const AliasKey::Place* place, alias.Find());
    if (place == nullptr) return std::optional<AliasKey::Place>();
    return {*place};
  }

  Status ReadWidths() {
    DM_ASSIGN_OR_RETURN(fields_.hidden_size, ReadPositive(text_, "hidden_size"));
    // The only key with a fallback to the top level.
    const JsonObject& holder = text_.Has("vocab_size") ? text_ : input_.root;
    DM_ASSIGN_OR_RETURN(fields_.vocab_size, ReadPositive(holder, "vocab_size"));
    return OkStatus();
  }

  Status ReadHeads() {
    // A list per layer wins over the scalar, with its maximum: buffers serve the widest layer.
    const std::string_view heads_key = text_.Has("num_attention_heads_per_layer")
                                           ? "num_attention_heads_per_layer"
                                           : "num_attention_heads";
    DM_ASSIGN_OR_RETURN(fields_.num_attention_heads, ReadWidest(text_, heads_key));
    if (fields_.num_attention_heads == 0) return text_.TypeError(heads_key, "a number above 0");
    DM_ASSIGN_OR_RETURN(const auto place, Find({"num_key_value_heads", "num_attention_groups"}));
    fields_.num_key_value_heads = fields_.num_attention_heads;
    if (place) {
      DM_ASSIGN_OR_RETURN(fields_.num_key_value_heads, ReadPositive(text_, place->key));
    }
    return OkStatus();
  }

  Status ReadPlain() {
    for (const PlainField& field : PlainFields()) {
      DM_ASSIGN_OR_RETURN(const auto place, Find(field.keys));
      const std::string_view name = field.keys.front();
      const auto listed = [&](const std::vector<std::string_view>& names) {
        return std::find(names.begin(), names.end(), name) != names.end();
      };
      const bool positive = listed(rules_.positive);
      if (!place) {
        if (positive || listed(rules_.present)) return text_.U64(name).status();
        continue;
      }
      DM_ASSIGN_OR_RETURN(fields_.*field.member, text_.U64(place->key));
      if (positive && fields_.*field.member == 0) {
        return text_.TypeError(place->key, "a size above 0");
      }
    }
    return OkStatus();
  }

  Status ReadHeadDim() {
    // 0 counts as absent: some classes save it where the width has another name.
    const AliasKey alias = input_.Text({"head_dim", "attention_head_dim"});
    DM_ASSIGN_OR_RETURN(const AliasKey::Place* place, alias.FindNonzero());
    if (place != nullptr) {
      DM_ASSIGN_OR_RETURN(fields_.head_dim, text_.U64(place->key));
    }
    switch (rules_.head_dim) {
      case HeadDimRule::kKey:
        if (place == nullptr) {
          return text_.Has("head_dim") ? text_.TypeError("head_dim", "a width above 0")
                                       : alias.AbsentError();
        }
        return OkStatus();
      case HeadDimRule::kKeyOrQuotient:
        if (place == nullptr) {
          DM_ASSIGN_OR_RETURN(fields_.head_dim, HeadDimFromQuotient(text_, fields_.hidden_size,
                                                                    fields_.num_attention_heads));
        }
        return OkStatus();
      case HeadDimRule::kMla:
        return ReadMlaHeadDim();
    }
    return OkStatus();
  }

  // The key may be the rotary width (HF's classes), the width without rotary part, or 0.
  Status ReadMlaHeadDim() {
    DM_ASSIGN_OR_RETURN(const auto whole, text_.OptionalU64("qk_head_dim"));
    CheckedU64 width;
    if (whole && !text_.Has("qk_nope_head_dim")) {
      width = *whole;
    } else {
      DM_ASSIGN_OR_RETURN(const std::uint64_t nope, text_.U64("qk_nope_head_dim"));
      width = CheckedU64(nope) + fields_.qk_rope_head_dim;
      if (!width.ok()) {
        return OutOfRangeError(text_.Where("qk_nope_head_dim") +
                               ": plus qk_rope_head_dim does not fit 64 bits");
      }
      if (whole && *whole != width.value()) {
        return text_.TypeError(
            "qk_head_dim", fmt::format("qk_nope_head_dim + qk_rope_head_dim = {}", width.value()));
      }
    }
    fields_.head_dim = std::max(fields_.head_dim, width.value());
    if (fields_.head_dim == 0) return text_.TypeError("qk_nope_head_dim", "a width above 0");
    return OkStatus();
  }

  // The largest value of a key over Nemotron Puzzle's per-block settings; absent if none has it.
  StatusOr<std::optional<std::uint64_t>> WidestBlock(std::string_view key) const {
    std::optional<std::uint64_t> widest;
    const Json* blocks = text_.Find("block_configs");
    if (blocks == nullptr) return widest;
    if (!blocks->is_array()) return text_.TypeError("block_configs", "an array of objects");
    for (std::size_t i = 0; i < blocks->size(); ++i) {
      const Json& block = (*blocks)[i];
      if (block.is_null()) continue;  // a block without settings
      DM_ASSIGN_OR_RETURN(
          const JsonObject object,
          JsonObject::Root(block, fmt::format("{}[{}]", text_.Where("block_configs"), i)));
      DM_ASSIGN_OR_RETURN(const auto value, object.OptionalU64(key));
      if (value) widest = std::max(widest.value_or(0), *value);
    }
    return widest;
  }

  Status ReadExperts() {
    if (rules_.has_experts != nullptr) {
      DM_ASSIGN_OR_RETURN(const bool has_experts, rules_.has_experts(input_));
      if (!has_experts) return OkStatus();  // 0 experts, top-1
    }
    const std::vector<std::string_view> keys = {"num_experts", "n_routed_experts",
                                                "num_local_experts", "moe_num_experts"};
    DM_ASSIGN_OR_RETURN(const auto place, Find(keys));
    if (place) {
      DM_ASSIGN_OR_RETURN(fields_.num_experts, text_.U64(place->key));
    } else if (rules_.experts == ExpertRule::kRequired) {
      return input_.Text(keys).AbsentError();
    }
    if (fields_.num_experts == 0) return OkStatus();  // top-1 even if a key says otherwise

    const std::vector<std::string_view> top_k = {
        "num_experts_per_tok", "num_experts_per_token", "moe_topk",
        "moe_top_k",           "top_k_experts",         "experts_per_token"};
    DM_ASSIGN_OR_RETURN(const auto top_k_place, Find(top_k));
    DM_ASSIGN_OR_RETURN(const auto block_top_k, WidestBlock("num_experts_per_tok"));
    if (!top_k_place && !block_top_k) return input_.Text(top_k).AbsentError();
    std::uint64_t scalar = 0;
    if (top_k_place) {
      DM_ASSIGN_OR_RETURN(scalar, ReadPositive(text_, top_k_place->key));
    }
    fields_.num_experts_per_tok = std::max(scalar, block_top_k.value_or(0));
    return OkStatus();
  }

  // True if the file says that some layer has a dense FFN.
  bool SaysDenseLayer() const {
    const auto is = [&](std::string_view key, auto test) {
      const Json* value = text_.Find(key);
      return value != nullptr && test(*value);
    };
    const auto has_word = [](std::string_view word) {
      return [word](const Json& list) {
        return list.is_array() && std::find(list.begin(), list.end(), word) != list.end();
      };
    };
    return is("first_k_dense_replace", [](const Json& v) { return v.is_number() && v > 0; }) ||
           is("mlp_only_layers", [](const Json& v) { return v.is_array() && !v.empty(); }) ||
           is("mlp_layer_types", has_word("dense")) || is("layers_block_type", has_word("mlp")) ||
           is("hybrid_override_pattern", [](const Json& v) {
             return v.is_string() && v.get_ref<const std::string&>().find('-') != std::string::npos;
           });
  }

  Status ReadFfn() {
    const std::vector<std::string_view> keys = {"intermediate_size", "ffn_hidden_size"};
    DM_ASSIGN_OR_RETURN(const auto place, Find(keys));
    const bool required = rules_.ffn == FfnRule::kRequired ||
                          rules_.expert_width == ExpertWidthRule::kFfn ||
                          fields_.num_experts == 0 || SaysDenseLayer();
    if (!place) return required ? input_.Text(keys).AbsentError() : OkStatus();
    DM_ASSIGN_OR_RETURN(fields_.intermediate_size,
                        required ? ReadPositive(text_, place->key) : text_.U64(place->key));
    return OkStatus();
  }

  Status ReadExpertWidth() {
    const std::vector<std::string_view> keys = {"moe_intermediate_size", "expert_ffn_hidden_size"};
    if (rules_.expert_width == ExpertWidthRule::kFfn) {
      fields_.moe_intermediate_size = fields_.intermediate_size;
      return OkStatus();
    }
    DM_ASSIGN_OR_RETURN(const auto place, Find(keys));
    if (place) {
      DM_ASSIGN_OR_RETURN(fields_.moe_intermediate_size, ReadWidest(text_, place->key));
    }
    DM_ASSIGN_OR_RETURN(const auto block_width, WidestBlock("moe_intermediate_size"));
    if (block_width) {
      fields_.moe_intermediate_size = std::max(fields_.moe_intermediate_size, *block_width);
    }
    if (fields_.moe_intermediate_size > 0) return OkStatus();
    if (rules_.expert_width == ExpertWidthRule::kKeyOrFfn && !place) {
      fields_.moe_intermediate_size = fields_.intermediate_size;
      if (fields_.moe_intermediate_size > 0) return OkStatus();
    }
    return place ? text_.TypeError(place->key, "a width above 0, since there are experts")
                 : input_.Text(keys).AbsentError();
  }

  Status ReadLatentWidth() {
    DM_ASSIGN_OR_RETURN(const auto place, Find({"moe_latent_size", "routed_expert_hidden_size"}));
    if (place) {
      DM_ASSIGN_OR_RETURN(fields_.moe_latent_size, text_.U64(place->key));
    }
    return OkStatus();
  }

  Status ReadShared() {
    if (rules_.shared == SharedRule::kNone) return OkStatus();
    const std::vector<std::string_view> keys = {"shared_expert_intermediate_size",
                                                "moe_shared_expert_intermediate_size",
                                                "share_expert_dim", "share_expert_dims"};
    DM_ASSIGN_OR_RETURN(const auto place, Find(keys));
    if (place) {
      DM_ASSIGN_OR_RETURN(fields_.shared_expert_intermediate_size, ReadWidest(text_, place->key));
      return OkStatus();
    }
    DM_ASSIGN_OR_RETURN(const auto count, Find({"n_shared_experts", "num_shared_experts"}));
    if (!count) {
      return rules_.shared == SharedRule::kRequired ? input_.Text(keys).AbsentError() : OkStatus();
    }
    DM_ASSIGN_OR_RETURN(const std::uint64_t experts, text_.U64(count->key));
    const CheckedU64 width = CheckedU64(experts) * fields_.moe_intermediate_size;
    if (!width.ok()) {
      return OutOfRangeError(
          fmt::format("{}: times moe_intermediate_size = {} does not fit 64 bits",
                      text_.Where(count->key), fields_.moe_intermediate_size));
    }
    fields_.shared_expert_intermediate_size = width.value();
    return OkStatus();
  }

  // Three position streams iff some place has a section that is not all zero. Older files keep it
  // in rope_scaling, re-saved ones in rope_parameters; whether it is interleaved does not matter.
  Status ReadMrope() {
    fields_.mrope_interleaved = rules_.mrope == MropeRule::kAlways;
    if (rules_.mrope != MropeRule::kFromFile) return OkStatus();
    for (const std::string_view name : {"rope_parameters", "rope_scaling"}) {
      if (!text_.Has(name)) continue;
      DM_ASSIGN_OR_RETURN(const JsonObject rope, text_.Object(name));
      if (!rope.Has("mrope_section")) continue;
      DM_ASSIGN_OR_RETURN(const auto section, rope.U64List("mrope_section"));
      for (const std::uint64_t width : section) {
        fields_.mrope_interleaved = fields_.mrope_interleaved || width > 0;
      }
    }
    return OkStatus();
  }

  const FamilyInput& input_;
  const JsonObject& text_;
  const FamilyRules& rules_;
  SizingFields& fields_;
};

}  // namespace

Status ReadCommon(const FamilyInput& input, const FamilyRules& rules, SizingFields& fields) {
  return CommonReader(input, rules, fields).Read();
}

}  // namespace draftmark::internal
