#include "src/config/drafter_config.h"

#include <fmt/format.h>

#include <utility>

#include "src/config/config_file.h"
#include "src/config/drafter_layout.h"

namespace draftmark {

using internal::DrafterForm;
using internal::DrafterLayout;
using internal::IsCollection;

std::string_view DrafterKindName(DrafterKind kind) {
  switch (kind) {
    case DrafterKind::kDflash:
      return "dflash";
    case DrafterKind::kDflash2:
      return "dflash2";
    case DrafterKind::kDspark:
      return "dspark";
  }
  return "unknown";
}

namespace {

Status ReadSizes(const DrafterLayout& layout, DrafterConfig& config) {
  struct Key {
    std::string_view name;
    std::uint64_t DrafterConfig::*member;
  };
  constexpr Key kKeys[] = {{"hidden_size", &DrafterConfig::hidden_size},
                           {"num_hidden_layers", &DrafterConfig::num_hidden_layers},
                           {"num_attention_heads", &DrafterConfig::num_attention_heads},
                           {"num_key_value_heads", &DrafterConfig::num_key_value_heads},
                           {"head_dim", &DrafterConfig::head_dim},
                           {"intermediate_size", &DrafterConfig::intermediate_size},
                           {"vocab_size", &DrafterConfig::vocab_size}};
  for (const Key& key : kKeys) {
    DM_ASSIGN_OR_RETURN(config.*key.member, layout.Geometry({key.name}).Read(&JsonObject::U64));
    if (config.*key.member == 0) return layout.geometry.TypeError(key.name, "a size above 0");
  }
  DM_ASSIGN_OR_RETURN(config.block_size, layout.Scheme({"block_size"}).Read(&JsonObject::U64));
  DM_ASSIGN_OR_RETURN(config.draft_vocab_size, layout.root.OptionalU64("draft_vocab_size"));
  return OkStatus();
}

// The list is mandatory: published lists differ from evenly spaced ones, with the same count, so a
// guess would load cleanly (drafter.md section 1.2).
Status ReadTaps(const DrafterLayout& layout, DrafterConfig& config) {
  const AliasKey outputs = layout.Scheme({"target_layer_ids"});
  const AliasKey states = layout.Scheme({"aux_hidden_state_layer_ids"});
  DM_ASSIGN_OR_RETURN(const auto output_ids, outputs.ReadOptional(&JsonObject::I64List));
  DM_ASSIGN_OR_RETURN(const auto state_ids, states.ReadOptional(&JsonObject::I64List));
  if (!output_ids && !state_ids) {
    return layout.form == DrafterForm::kSpeculators ? states.AbsentError() : outputs.AbsentError();
  }
  if (state_ids) {
    config.target_layer_ids_as_written = *state_ids;
    // A hidden state's index counts the embedding as 0. Negative indices are refused below; the
    // guard keeps the subtraction from overflowing.
    for (const std::int64_t id : *state_ids)
      config.target_layer_ids.push_back(id < 0 ? -2 : id - 1);
  }
  if (output_ids) {
    if (state_ids && config.target_layer_ids != *output_ids) {
      return InvalidArgumentError(
          layout.root.Where("aux_hidden_state_layer_ids") +
          ": contradicts target_layer_ids (a hidden state's index is the layer's plus 1)");
    }
    config.target_layer_ids = *output_ids;
    config.target_layer_ids_as_written = *output_ids;
  }
  DM_ASSIGN_OR_RETURN(config.num_target_layers,
                      layout.Scheme({"num_target_layers"}).ReadOptional(&JsonObject::U64));
  DM_ASSIGN_OR_RETURN(
      config.target_hidden_size,
      layout.Scheme({"target_hidden_size"}).ReadOr(&JsonObject::U64, config.hidden_size));
  DM_ASSIGN_OR_RETURN(config.mask_token_id,
                      layout.Scheme({"mask_token_id"}).Read(&JsonObject::U64));
  return OkStatus();
}

Status ReadRest(const DrafterLayout& layout, DrafterConfig& config) {
  DM_ASSIGN_OR_RETURN(config.rms_norm_eps,
                      layout.Geometry({"rms_norm_eps"}).Read(&JsonObject::Number));
  DM_ASSIGN_OR_RETURN(config.attention_bias,
                      layout.Geometry({"attention_bias"}).ReadOr(&JsonObject::Bool, false));
  DM_ASSIGN_OR_RETURN(config.max_position_embeddings,
                      layout.Geometry({"max_position_embeddings"}).ReadOptional(&JsonObject::U64));
  // Speculators files may say it twice; the drafter's own word is the top level's.
  DM_ASSIGN_OR_RETURN(config.tie_word_embeddings, layout.root.BoolOr("tie_word_embeddings", false));
  DM_ASSIGN_OR_RETURN(config.output_multiplier,
                      layout.Scheme({"output_multiplier"}).ReadOr(&JsonObject::Number, 1.0));
  DM_ASSIGN_OR_RETURN(config.final_logit_softcapping,
                      layout.Scheme({"final_logit_softcapping", "logit_softcap"})
                          .ReadOptional(&JsonObject::Number));
  DM_ASSIGN_OR_RETURN(config.input_embedding_scale,
                      layout.Scheme({"input_embedding_scale"}).ReadOr(&JsonObject::Number, 1.0));
  return OkStatus();
}

}  // namespace

bool IsDrafterConfig(const Json& json) {
  if (!json.is_object()) return false;
  if (IsCollection(json)) return !DrafterEntryNames(json).empty();
  for (const char* key : {"dflash_config", "transformer_layer_config", "speculators_model_type",
                          "row_convention", "target_layer_ids", "aux_hidden_state_layer_ids"}) {
    const auto found = json.find(key);
    if (found != json.end() && !found->is_null()) return true;
  }
  const auto architectures = json.find("architectures");
  if (architectures != json.end() && architectures->is_array()) {
    for (const Json& name : *architectures) {
      if (!name.is_string()) continue;
      const auto& text = name.get_ref<const std::string&>();
      for (const char* part : {"DFlash", "DSpark"}) {
        if (text.find(part) != std::string::npos) return true;
      }
    }
  }
  return false;
}

StatusOr<DrafterConfig> ParseDrafterConfig(const Json& json, const std::string& source,
                                           const std::string& entry) {
  DM_ASSIGN_OR_RETURN(const internal::SelectedEntry selected,
                      internal::SelectEntry(json, source, entry));
  DM_ASSIGN_OR_RETURN(const DrafterLayout layout,
                      internal::FindLayout(*selected.json, selected.source));
  DM_RETURN_IF_ERROR(internal::RefuseUnsupported(layout));
  DrafterConfig config;
  DM_RETURN_IF_ERROR(ReadSizes(layout, config));
  DM_RETURN_IF_ERROR(ReadTaps(layout, config));
  DM_RETURN_IF_ERROR(internal::ReadRope(layout, config.rope));
  DM_RETURN_IF_ERROR(ReadRest(layout, config));
  DM_RETURN_IF_ERROR(internal::ReadAttention(layout, config));
  DM_RETURN_IF_ERROR(internal::ReadHeads(layout, config));
  DM_RETURN_IF_ERROR(internal::CheckDrafter(layout, config));
  DM_RETURN_IF_ERROR(internal::CheckRecordedValues(layout, config));
  return config;
}

StatusOr<DrafterConfig> LoadDrafterConfig(const std::string& path, const std::string& entry) {
  DM_ASSIGN_OR_RETURN(const Json json, ReadConfigFile(path));
  return ParseDrafterConfig(json, path, entry);
}

namespace {

OrderedJson LayerTypesToJson(const DrafterConfig& config) {
  OrderedJson json = OrderedJson::array();
  for (const LayerType type : config.layer_types) {
    json.push_back(type == LayerType::kSlidingAttention ? "sliding_attention" : "full_attention");
  }
  return json;
}

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

}  // namespace

OrderedJson GeometryToJson(const DrafterConfig& config) {
  OrderedJson json;
  json["kind"] = DrafterKindName(config.kind);
  json["hidden_size"] = config.hidden_size;
  json["num_hidden_layers"] = config.num_hidden_layers;
  json["num_attention_heads"] = config.num_attention_heads;
  json["num_key_value_heads"] = config.num_key_value_heads;
  json["head_dim"] = config.head_dim;
  json["intermediate_size"] = config.intermediate_size;
  json["vocab_size"] = config.vocab_size;
  json["block_size"] = config.block_size;
  json["row_convention"] = config.row_convention == RowConvention::kInPlace ? "A" : "B";
  json["sample_from_anchor"] = config.sample_from_anchor;
  json["draft_tokens_per_block"] = config.drafts(config.block_size);
  json["target_layer_ids"] = config.target_layer_ids;
  json["target_layer_ids_as_written"] = config.target_layer_ids_as_written;
  json["num_target_taps"] = config.target_layer_ids.size();
  json["num_target_layers"] = OrNull(config.num_target_layers);
  json["target_hidden_size"] = config.target_hidden_size;
  json["mask_token_id"] = OrNull(config.mask_token_id);
  json["rope"] = {{"theta", config.rope.theta}, {"type", config.rope.type}};
  json["rms_norm_eps"] = config.rms_norm_eps;
  json["attention_bias"] = config.attention_bias;
  json["sliding_window"] = OrNull(config.sliding_window);
  json["layer_types"] = LayerTypesToJson(config);
  json["is_causal"] = OrNull(config.is_causal);
  json["layer_causal_resolved"] = config.layer_causal;
  json["sliding_window_non_causal"] = OrNull(config.sliding_window_non_causal);
  json["max_position_embeddings"] = OrNull(config.max_position_embeddings);
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  json["markov_rank"] = config.markov_rank;
  json["markov_head_type"] = OrNull(config.markov_head_type);
  json["confidence_head"] = config.confidence_head;
  json["confidence_head_with_markov"] = config.confidence_head_with_markov;
  json["conv_kernel_size"] = config.conv_kernel_size;
  json["conv_group_size"] = config.conv_group_size;
  json["selector_rank"] = config.selector_rank;
  json["selector_top_k"] = config.selector_top_k;
  return json;
}

}  // namespace draftmark
