// Layer types, sliding window and causality of a drafter (spec/drafter.md section 4.4).
#include <fmt/format.h>

#include "src/base/printable.h"
#include "src/config/drafter_layout.h"

namespace draftmark::internal {
namespace {

// Published drafters have 3 to 8 layers. The bound keeps a hostile count from filling memory with
// layer types before any product is checked.
constexpr std::uint64_t kMostLayers = 4096;

Status ReadLayerTypes(const DrafterLayout& layout, DrafterConfig& config) {
  if (config.num_hidden_layers == 0 || config.num_hidden_layers > kMostLayers) {
    return layout.geometry.TypeError("num_hidden_layers", fmt::format("1 to {}", kMostLayers));
  }
  const AliasKey key = layout.Geometry({"layer_types"});
  DM_ASSIGN_OR_RETURN(const auto names, key.ReadOptional(&JsonObject::StringList));
  if (!names) {
    config.layer_types.assign(config.num_hidden_layers, LayerType::kFullAttention);
    return OkStatus();
  }
  if (names->size() != config.num_hidden_layers) {
    return InvalidArgumentError(fmt::format(
        "{}: expected one type for each of the {} layers of num_hidden_layers, found {}",
        layout.geometry.Where("layer_types"), config.num_hidden_layers, names->size()));
  }
  for (std::size_t i = 0; i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    if (name == "full_attention") {
      config.layer_types.push_back(LayerType::kFullAttention);
    } else if (name == "sliding_attention") {
      config.layer_types.push_back(LayerType::kSlidingAttention);
    } else {
      return UnimplementedError(
          fmt::format("{}[{}]: layer type \"{}\" is not supported (supported: full_attention, "
                      "sliding_attention)",
                      layout.geometry.Where("layer_types"), i, Printable(name)));
    }
  }
  return OkStatus();
}

Status ReadWindow(const DrafterLayout& layout, DrafterConfig& config) {
  bool any_sliding = false;
  for (const LayerType type : config.layer_types) {
    any_sliding = any_sliding || type == LayerType::kSlidingAttention;
  }
  DM_ASSIGN_OR_RETURN(const bool use_sliding_window,
                      layout.Geometry({"use_sliding_window"}).ReadOr(&JsonObject::Bool, true));
  const AliasKey key = layout.Geometry({"sliding_window"});
  DM_ASSIGN_OR_RETURN(const auto window, key.ReadOptional(&JsonObject::U64));
  // Without a sliding layer the number means nothing: Qwen3 files carry one beside
  // use_sliding_window false.
  if (!any_sliding) return OkStatus();
  if (!use_sliding_window) {
    // Section 7: no window, whatever sliding_window says. A sliding layer without a window sees as
    // far as a full one, so it becomes one here: nobody downstream has to know of the switch.
    config.layer_types.assign(config.layer_types.size(), LayerType::kFullAttention);
    return OkStatus();
  }
  if (!window) return layout.geometry.AbsentError("sliding_window", "the sliding layers' window");
  if (*window == 0) return layout.geometry.TypeError("sliding_window", "a window above 0");
  config.sliding_window = *window;
  return OkStatus();
}

// A geometry that we printed shows layers whose window is switched off as full ones; that they
// were written as sliding is left in its resolved causality only.
Status ReadRecordedCausality(const DrafterLayout& layout, bool sliding_causal,
                             DrafterConfig& config) {
  constexpr std::string_view kKey = "layer_causal_resolved";
  if (layout.form != DrafterForm::kEntry || !layout.root.Has(kKey)) return OkStatus();
  DM_ASSIGN_OR_RETURN(const auto recorded, layout.root.BoolList(kKey));
  if (recorded.size() != config.layer_causal.size()) {
    return layout.root.TypeError(kKey, fmt::format("{} values", config.layer_causal.size()));
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (recorded[i] == config.layer_causal[i]) continue;
    const bool was_sliding = recorded[i] && sliding_causal && !config.is_causal &&
                             config.layer_types[i] == LayerType::kFullAttention;
    if (!was_sliding) {
      return InvalidArgumentError(
          fmt::format("{}[{}]: recorded as {}, but the other keys make it {}",
                      layout.root.Where(kKey), i, recorded[i], !recorded[i]));
    }
    config.layer_causal[i] = true;
  }
  return OkStatus();
}

// `written`: the layer types as the file has them.
Status ReadCausality(const DrafterLayout& layout, const std::vector<LayerType>& written,
                     DrafterConfig& config) {
  // A ranking, not two spellings: the explicit key wins over the dflash_config one.
  DM_ASSIGN_OR_RETURN(config.is_causal, layout.root.OptionalBool("is_causal"));
  if (layout.form == DrafterForm::kSpeculators && !config.is_causal) {
    DM_ASSIGN_OR_RETURN(config.is_causal, layout.geometry.OptionalBool("is_causal"));
  }
  if (layout.dflash && !config.is_causal) {
    DM_ASSIGN_OR_RETURN(
        config.is_causal,
        AliasKey({&*layout.dflash}, {"is_causal", "causal"}).ReadOptional(&JsonObject::Bool));
  }
  DM_ASSIGN_OR_RETURN(config.sliding_window_non_causal,
                      layout.Scheme({"sliding_window_non_causal"}).ReadOptional(&JsonObject::Bool));
  // The oracle cases' spelling of the opposite.
  DM_ASSIGN_OR_RETURN(const auto causal_sliding, layout.root.OptionalBool("causal_sliding"));
  bool sliding_causal = true;
  if (config.sliding_window_non_causal) sliding_causal = !*config.sliding_window_non_causal;
  if (causal_sliding) {
    if (config.sliding_window_non_causal && sliding_causal != *causal_sliding) {
      return InvalidArgumentError(layout.root.Where("causal_sliding") +
                                  " and sliding_window_non_causal contradict each other");
    }
    sliding_causal = *causal_sliding;
  }
  for (const LayerType type : written) {
    config.layer_causal.push_back(
        config.is_causal.value_or(type == LayerType::kSlidingAttention && sliding_causal));
  }
  return ReadRecordedCausality(layout, sliding_causal, config);
}

}  // namespace

Status ReadAttention(const DrafterLayout& layout, DrafterConfig& config) {
  DM_RETURN_IF_ERROR(ReadLayerTypes(layout, config));
  const std::vector<LayerType> written = config.layer_types;
  DM_RETURN_IF_ERROR(ReadWindow(layout, config));
  return ReadCausality(layout, written, config);
}

}  // namespace draftmark::internal
