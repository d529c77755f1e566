#include "src/config/drafter_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "src/base/ascii.h"
#include "src/base/printable.h"

namespace draftmark::internal {

AliasKey DrafterLayout::Geometry(const std::vector<std::string_view>& keys) const {
  return AliasKey({&geometry}, keys);
}

AliasKey DrafterLayout::Scheme(const std::vector<std::string_view>& keys) const {
  std::vector<const JsonObject*> objects;
  if (dflash) objects.push_back(&*dflash);
  objects.push_back(&root);
  return AliasKey(objects, keys);
}

AliasKey DrafterLayout::Anywhere(const std::vector<std::string_view>& keys) const {
  std::vector<const JsonObject*> objects = {&root};
  if (dflash) objects.push_back(&*dflash);
  if (form == DrafterForm::kSpeculators) objects.push_back(&geometry);
  return AliasKey(objects, keys);
}

std::optional<DrafterKind> DrafterKindFromName(std::string_view name) {
  for (const DrafterKind kind :
       {DrafterKind::kDflash, DrafterKind::kDflash2, DrafterKind::kDspark}) {
    if (name == DrafterKindName(kind)) return kind;
  }
  return std::nullopt;
}

namespace {

std::string KindText(const JsonObject& root) {
  const Json* kind = root.Find("kind");
  return kind != nullptr && kind->is_string() ? kind->get<std::string>() : "";
}

StatusOr<DrafterForm> FindForm(const JsonObject& root) {
  if (root.Has("row_convention")) {
    // `kind` says what the entry is: a checkpoint, a recipe, an invented one; in a geometry that we
    // printed it is the drafter's kind.
    const std::string kind = KindText(root);
    const std::array<std::string_view, 3> known = {"checkpoint", "training_recipe", "synthetic"};
    if (kind == "checkpoint_other_arch") {
      const Json* note = root.Find("note");
      return UnimplementedError(
          fmt::format("{}: a checkpoint of another architecture, which is not supported{}{}",
                      root.Where("kind"), note != nullptr ? ": " : "",
                      note != nullptr && note->is_string() ? OneLine(JsonText(*note)) : ""));
    }
    if (std::find(known.begin(), known.end(), kind) == known.end() && !DrafterKindFromName(kind)) {
      return root.TypeError("kind", "checkpoint, training_recipe, synthetic or a drafter's kind");
    }
    return DrafterForm::kEntry;
  }
  if (root.Has("transformer_layer_config")) return DrafterForm::kSpeculators;
  // No published config has a `kind`; the guard keeps a real one from getting a case's defaults.
  if (root.Has("kind") && !root.Has("architectures") && !root.Has("model_type")) {
    if (!DrafterKindFromName(KindText(root))) {
      return root.TypeError("kind", "dflash, dflash2 or dspark");
    }
    return DrafterForm::kCase;
  }
  return DrafterForm::kHuggingFace;
}

}  // namespace

StatusOr<DrafterLayout> FindLayout(const Json& json, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  DM_ASSIGN_OR_RETURN(const DrafterForm form, FindForm(root));
  DrafterLayout layout{form, root, root, std::nullopt};
  if (form == DrafterForm::kSpeculators) {
    DM_ASSIGN_OR_RETURN(layout.geometry, root.Object("transformer_layer_config"));
  }
  if (root.Has("dflash_config")) {
    DM_ASSIGN_OR_RETURN(layout.dflash, root.Object("dflash_config"));
  }
  return layout;
}

namespace {

constexpr std::string_view kOtherArchitecture =
    "its layers differ from spec/drafter.md (norms, gates, sinks or shared K and V)";

struct NamePart {
  std::string_view part;  // of an architecture's or a model type's name, in lower case
  std::string_view reason;
};
constexpr std::array kRefusedNames = {
    NamePart{"domino", "Domino's GRU head has no place in the scratch"},
    NamePart{"gemma", kOtherArchitecture},
    NamePart{"laguna", kOtherArchitecture},
    NamePart{"mimo", kOtherArchitecture},
    NamePart{"eagle", "an EAGLE drafter is no block-diffusion drafter"},
};

struct RefusedFlag {
  std::string_view key;
  std::string_view reason;
};
constexpr std::array kRefusedFlags = {
    RefusedFlag{"attention_k_eq_v", "layers that use K as V are not supported"},
    RefusedFlag{"sandwich_norms", "layers with four norms are not supported"},
    RefusedFlag{"attn_output_gate", "attention output gates are not supported"},
    RefusedFlag{"mla_use_output_gate", "attention output gates are not supported"},
    RefusedFlag{"attention_sink_bias", "attention sinks are not supported"},
    RefusedFlag{"add_swa_attention_sink_bias", "attention sinks are not supported"},
    RefusedFlag{"add_full_attention_sink_bias", "attention sinks are not supported"},
    RefusedFlag{"mlp_bias", "biases in the MLP are not supported"},
};
// Counts that must be 0.
constexpr std::array kRefusedCounts = {
    RefusedFlag{"num_experts", "mixture-of-experts drafters are not supported"},
    RefusedFlag{"n_routed_experts", "mixture-of-experts drafters are not supported"},
    RefusedFlag{"num_local_experts", "mixture-of-experts drafters are not supported"},
    RefusedFlag{"kv_lora_rank", "drafters with latent attention (MLA) are not supported"},
    RefusedFlag{"gru_hidden_dim", "Domino's GRU head has no place in the scratch"},
};
// Factors and caps that spec/drafter.md does not have. No shape of a tensor shows one.
struct RefusedNumber {
  std::string_view key;
  std::optional<double> off;  // the value that changes nothing, if there is one
  std::string_view reason;
};
constexpr std::array kRefusedNumbers = {
    RefusedNumber{"embedding_multiplier", 1, "a scale of the embeddings by this name is not known"},
    RefusedNumber{"residual_multiplier", 1, "scaled residuals are not supported"},
    RefusedNumber{"attention_multiplier", {}, "scores are scaled by head_dim^-1/2 alone"},
    RefusedNumber{"attention_scale", {}, "scores are scaled by head_dim^-1/2 alone"},
    RefusedNumber{"attn_logit_softcapping", 0, "caps on the scores are not supported"},
    RefusedNumber{"logits_scaling", 1, "divided logits are not supported"},
};
// Texts of which only some are supported.
struct AllowedText {
  std::string_view key;
  std::vector<std::string_view> allowed;
};
const std::vector<AllowedText>& AllowedTexts() {
  static const auto* const kTexts = new std::vector<AllowedText>{
      {"projector_type", {"dflash", "dflash2", "dspark"}},
      {"speculators_model_type", {"dflash", "dflash2", "dspark"}},
      {"attention_mode", {"gqa", "mha", "mqa"}},  // anything else is latent attention
      {"hidden_act", {"silu", "swish"}},
      {"output_gate_type", {"none", ""}},
      {"gating", {"none", ""}},
      {"markov_head_type", {"vanilla", "gated", "rnn"}},
  };
  return *kTexts;
}

Status RefuseName(const std::string& where, const std::string& name) {
  const std::string lower = ToAsciiLower(name);
  for (const NamePart& refused : kRefusedNames) {
    if (lower.find(refused.part) != std::string::npos) {
      return UnimplementedError(
          fmt::format("{}: {} is not supported: {}", where, Printable(name), refused.reason));
    }
  }
  return OkStatus();
}

}  // namespace

Status RefuseUnsupported(const DrafterLayout& layout) {
  if (layout.root.Has("architectures")) {
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        layout.root.StringList("architectures"));
    for (const std::string& name : names) {
      DM_RETURN_IF_ERROR(RefuseName(layout.root.Where("architectures"), name));
    }
  }
  if (layout.geometry.Has("model_type")) {
    DM_ASSIGN_OR_RETURN(const std::string name, layout.geometry.String("model_type"));
    DM_RETURN_IF_ERROR(RefuseName(layout.geometry.Where("model_type"), name));
  }
  for (const RefusedFlag& refused : kRefusedFlags) {
    const AliasKey key = layout.Anywhere({refused.key});
    DM_ASSIGN_OR_RETURN(const bool set, key.ReadOr(&JsonObject::Bool, false));
    if (set) {
      return UnimplementedError(fmt::format("{}: {}", key.Where(), refused.reason));
    }
  }
  for (const RefusedFlag& refused : kRefusedCounts) {
    const AliasKey key = layout.Anywhere({refused.key});
    DM_ASSIGN_OR_RETURN(const std::uint64_t count, key.ReadOr(&JsonObject::U64, std::uint64_t{0}));
    if (count != 0) {
      return UnimplementedError(fmt::format("{}: {}", key.Where(), refused.reason));
    }
  }
  for (const RefusedNumber& refused : kRefusedNumbers) {
    const AliasKey key = layout.Anywhere({refused.key});
    DM_ASSIGN_OR_RETURN(const std::optional<double> value, key.ReadOptional(&JsonObject::Number));
    if (value && value != refused.off) {
      return UnimplementedError(
          fmt::format("{}: {}, found {}", key.Where(), refused.reason, *value));
    }
  }
  for (const AllowedText& text : AllowedTexts()) {
    const AliasKey key = layout.Anywhere({text.key});
    DM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                        key.ReadOptional(&JsonObject::String));
    if (!value) continue;
    DM_RETURN_IF_ERROR(RefuseName(key.Where(), *value));
    if (std::find(text.allowed.begin(), text.allowed.end(), *value) == text.allowed.end()) {
      return UnimplementedError(fmt::format("{}: \"{}\" is not supported (supported: {})",
                                            key.Where(), Printable(*value),
                                            fmt::join(text.allowed, ", ")));
    }
  }
  return OkStatus();
}

}  // namespace draftmark::internal
