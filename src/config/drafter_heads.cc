// Heads of a drafter, and what follows from them: its kind and its row convention.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/ascii.h"
#include "src/config/drafter_layout.h"

namespace draftmark::internal {
namespace {

// What the names in the file say: architectures, projector_type, speculators_model_type.
StatusOr<std::optional<DrafterKind>> NamedKind(const DrafterLayout& layout) {
  if (layout.root.Has("kind")) {
    DM_ASSIGN_OR_RETURN(const std::string kind, layout.root.String("kind"));
    if (const auto named = DrafterKindFromName(kind)) return named;
  }
  std::vector<std::string> names;
  if (layout.root.Has("architectures")) {
    DM_ASSIGN_OR_RETURN(names, layout.root.StringList("architectures"));
  }
  for (const std::string_view key : {"projector_type", "speculators_model_type"}) {
    DM_ASSIGN_OR_RETURN(const auto name, layout.Scheme({key}).ReadOptional(&JsonObject::String));
    if (name) names.push_back(*name);
  }
  std::optional<DrafterKind> found;
  for (std::string& name : names) {
    name = ToAsciiLower(name);
    if (name.find("dspark") != std::string::npos) return {DrafterKind::kDspark};
    if (name.find("dflash2") != std::string::npos) {
      found = DrafterKind::kDflash2;
    } else if (name.find("dflash") != std::string::npos && !found) {
      found = DrafterKind::kDflash;
    }
  }
  return found;
}

Status ReadSelector(const DrafterLayout& layout, DrafterConfig& config) {
  struct Key {
    std::string_view name;
    std::uint64_t DrafterConfig::*member;
  };
  bool any = false;
  bool all = true;
  constexpr Key kKeys[] = {{"conv_kernel_size", &DrafterConfig::conv_kernel_size},
                           {"conv_group_size", &DrafterConfig::conv_group_size},
                           {"selector_rank", &DrafterConfig::selector_rank},
                           {"selector_top_k", &DrafterConfig::selector_top_k}};
  for (const Key& key : kKeys) {
    DM_ASSIGN_OR_RETURN(config.*key.member,
                        layout.Scheme({key.name}).ReadOr(&JsonObject::U64, std::uint64_t{0}));
    any = any || config.*key.member != 0;
    all = all && config.*key.member != 0;
  }
  if (any && config.kind == DrafterKind::kDspark) {
    return UnimplementedError(layout.root.source() +
                              ": DFlash2 convolutions or selector in a DSpark drafter");
  }
  if (any) config.kind = DrafterKind::kDflash2;
  if (config.kind != DrafterKind::kDflash2 || all) return OkStatus();
  for (const Key& key : kKeys) {
    if (config.*key.member == 0) {
      const JsonObject& object = layout.dflash ? *layout.dflash : layout.root;
      return object.Has(key.name) ? object.TypeError(key.name, "a size above 0 (DFlash2)")
                                  : object.AbsentError(key.name,
                                                       "a size above 0: DFlash2 has "
                                                       "convolutions and a selector");
    }
  }
  return OkStatus();
}

Status ReadConfidence(const DrafterLayout& layout, DrafterConfig& config) {
  const bool dspark = config.kind == DrafterKind::kDspark;
  // Absent keys of a DSpark checkpoint count as true (drafter.md section 1.1); whether its tensors
  // are there is for the loader of weights to see.
  DM_ASSIGN_OR_RETURN(config.confidence_head,
                      layout.Scheme({"enable_confidence_head", "confidence_head"})
                          .ReadOr(&JsonObject::Bool, dspark));
  DM_ASSIGN_OR_RETURN(
      const auto with_markov,
      layout.Scheme({"confidence_head_with_markov"}).ReadOptional(&JsonObject::Bool));
  if (!config.confidence_head) return OkStatus();  // the flag describes a head that is not there
  config.confidence_head_with_markov = with_markov.value_or(config.markov_rank > 0);
  if (config.confidence_head_with_markov && config.markov_rank == 0) {
    return InvalidArgumentError(
        fmt::format("{} is true, but markov_rank is 0",
                    layout.Scheme({"confidence_head_with_markov"}).Where()));
  }
  return OkStatus();
}

Status ReadConvention(const DrafterLayout& layout, DrafterConfig& config) {
  DM_ASSIGN_OR_RETURN(const auto sample_from_anchor,
                      layout.Scheme({"sample_from_anchor"}).ReadOptional(&JsonObject::Bool));
  if (layout.form == DrafterForm::kEntry) {
    // The entry is what tells a loader: DeepSpec's block-7 DFlash files carry no flag at all.
    DM_ASSIGN_OR_RETURN(const std::string letter, layout.root.String("row_convention"));
    if (letter != "A" && letter != "B") return layout.root.TypeError("row_convention", "A or B");
    config.sample_from_anchor = letter == "B";
    if (sample_from_anchor && *sample_from_anchor != config.sample_from_anchor) {
      return InvalidArgumentError(fmt::format("{} is {}, but row_convention is {}",
                                              layout.Scheme({"sample_from_anchor"}).Where(),
                                              *sample_from_anchor, letter));
    }
  } else if (layout.form == DrafterForm::kCase) {
    // The kind decides, whatever the other keys say (cases/README.md).
    config.sample_from_anchor = config.kind == DrafterKind::kDspark;
  } else {
    // Section 7: any one of the signs of DSpark, or the flag, makes it B. So a flag that is false
    // takes nothing back in a DSpark file.
    config.sample_from_anchor =
        config.kind == DrafterKind::kDspark || sample_from_anchor.value_or(false);
  }
  config.row_convention =
      config.sample_from_anchor ? RowConvention::kAnchorFirst : RowConvention::kInPlace;
  if (config.kind == DrafterKind::kDflash2 && config.sample_from_anchor) {
    return UnimplementedError(layout.Scheme({"sample_from_anchor"}).Where() +
                              ": the DFlash2 selector is only described for convention A");
  }
  return OkStatus();
}

}  // namespace

Status ReadHeads(const DrafterLayout& layout, DrafterConfig& config) {
  DM_ASSIGN_OR_RETURN(const std::optional<DrafterKind> named, NamedKind(layout));
  config.kind = named.value_or(DrafterKind::kDflash);
  DM_ASSIGN_OR_RETURN(config.markov_rank,
                      layout.Scheme({"markov_rank"}).ReadOr(&JsonObject::U64, std::uint64_t{0}));
  DM_ASSIGN_OR_RETURN(config.markov_head_type,
                      layout.Scheme({"markov_head_type"}).ReadOptional(&JsonObject::String));
  DM_RETURN_IF_ERROR(ReadSelector(layout, config));
  if (config.markov_rank > 0) {
    if (config.kind == DrafterKind::kDflash2) {
      return UnimplementedError(layout.Scheme({"markov_rank"}).Where() +
                                ": a Markov head beside the DFlash2 selector is not supported");
    }
    config.kind = DrafterKind::kDspark;
  }
  DM_RETURN_IF_ERROR(ReadConfidence(layout, config));
  return ReadConvention(layout, config);
}

}  // namespace draftmark::internal
