#include "src/config/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/base/printable.h"
#include "src/config/config_file.h"
#include "src/config/drafter_config.h"
#include "src/config/family.h"

namespace draftmark {
namespace {

using internal::FamilyInput;
using internal::FamilyRules;

// Families whose files have key names of their own.
constexpr std::string_view kMistralParams = "mistral_params";
constexpr std::string_view kEncoderDecoder = "m2m_100";

// Our own form: no other file has one of these two keys at its top level, or only keys that are
// sizing fields. An all-zero config is valid there, so no rule of a real model applies to it.
bool IsFlat(const JsonObject& root) {
  if (root.Has("model_type") || root.Has("architectures")) return false;
  if (root.Has("attn_gated") || root.Has("adapter_max_rank")) return true;
  const auto is_field = [](const std::string& key) {
    return std::any_of(kSizingFields.begin(), kSizingFields.end(),
                       [&](const SizingField& field) { return field.name == key; });
  };
  bool only_fields = !root.json().empty();
  for (const auto& [key, value] : root.json().items()) only_fields = only_fields && is_field(key);
  return only_fields;
}

StatusOr<FamilyInput> FindText(const JsonObject& root) {
  for (const std::string_view key : {"text_config", "llm_config", "language_config"}) {
    if (!root.Has(key)) continue;
    DM_ASSIGN_OR_RETURN(const JsonObject text, root.Object(key));
    return FamilyInput{text, root, true};
  }
  return FamilyInput{root, root, false};
}

template <typename Matches>
const FamilyRules* FindFamily(Matches matches) {
  for (const auto* families : {&internal::QwenAndDenseFamilies(), &internal::HybridFamilies(),
                               &internal::MlaFamilies(), &internal::OtherMoeFamilies()}) {
    for (const FamilyRules& rules : *families) {
      if (matches(rules)) return &rules;
    }
  }
  return nullptr;
}

bool Contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const FamilyRules* FindByModelType(std::string_view type) {
  return FindFamily([&](const FamilyRules& rules) { return Contains(rules.model_types, type); });
}

Status UnknownFamily(const JsonObject& root, std::string_view key, const std::string& name) {
  return UnimplementedError(
      fmt::format("{}: unsupported {} \"{}\"", root.Where(key), key, Printable(name)));
}

// The family by the top-level model_type, else by architectures[0]; never by what else the file
// holds: a wrong family sizes wrong buffers without a message.
StatusOr<const FamilyRules*> RecogniseFamily(const FamilyInput& input) {
  const JsonObject& root = input.root;
  DM_ASSIGN_OR_RETURN(const std::string type, root.StringOr("model_type", ""));
  if (!type.empty()) {
    // The one family that the top level leaves open (see the header): Mistral Small 3.x.
    if (type == "mistral3" && input.nested) {
      DM_ASSIGN_OR_RETURN(const std::string inner, input.text.StringOr("model_type", ""));
      if (inner == "mistral") return FindByModelType(inner);
    }
    const FamilyRules* rules = FindByModelType(type);
    if (rules == nullptr) return UnknownFamily(root, "model_type", type);
    return rules;
  }
  if (!root.Has("architectures")) {
    return root.AbsentError("model_type", "the model's family, or architectures");
  }
  DM_ASSIGN_OR_RETURN(const auto names, root.StringList("architectures"));
  if (names.empty()) return root.TypeError("architectures", "at least one name");
  const FamilyRules* rules = FindFamily([&](const FamilyRules& candidate) {
    return Contains(candidate.architectures, names.front());
  });
  if (rules == nullptr) return UnknownFamily(root, "architectures", names.front());
  return rules;
}

StatusOr<ModelConfig> ParseHuggingFace(const JsonObject& root) {
  DM_ASSIGN_OR_RETURN(const FamilyInput input, FindText(root));
  DM_ASSIGN_OR_RETURN(const FamilyRules* rules, RecogniseFamily(input));
  if (rules->text_required && !input.nested) {
    return root.Object("text_config").status();
  }
  ModelConfig config;
  config.family = rules->family;
  DM_RETURN_IF_ERROR(internal::ReadCommon(input, *rules, config.fields));
  if (rules->refine != nullptr) DM_RETURN_IF_ERROR(rules->refine(input, config.fields));
  return config;
}

bool IsEncoderDecoder(const JsonObject& root) {
  const Json* type = root.Find("model_type");
  return type != nullptr && (*type == "m2m_100" || *type == "nllb");
}

}  // namespace

StatusOr<ModelConfig> ParseModelConfig(const Json& json, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  if (IsDrafterConfig(json)) {
    return InvalidArgumentError(source + ": describes a drafter, not a target model");
  }
  ModelConfig config;
  if (IsFlat(root)) {
    config.family = "flat";
    DM_ASSIGN_OR_RETURN(config.fields, ParseSizingFields(root));
    return config;
  }
  if (!root.Has("model_type") && !root.Has("architectures") && root.Has("dim") &&
      root.Has("n_layers")) {
    config.family = kMistralParams;
    DM_RETURN_IF_ERROR(internal::ReadMistralParams(root, config.fields));
  } else if (IsEncoderDecoder(root)) {
    config.family = kEncoderDecoder;
    DM_RETURN_IF_ERROR(internal::ReadEncoderDecoder(root, config.fields));
  } else {
    DM_ASSIGN_OR_RETURN(config, ParseHuggingFace(root));
  }
  DM_RETURN_IF_ERROR(internal::CheckFields(source, config.fields));
  return config;
}

StatusOr<ModelConfig> LoadModelConfig(const std::string& path) {
  DM_ASSIGN_OR_RETURN(const Json json, ReadConfigFile(path));
  return ParseModelConfig(json, path);
}

}  // namespace draftmark
